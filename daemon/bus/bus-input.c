/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-input.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/sockios.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* The fixed part of a header: byte order, kind, flags, version, bytes of the body, serial, bytes of the fields. */
#define HEADER_BYTES        16
#define BODY_LENGTH_OFFSET  4
#define FIELD_LENGTH_OFFSET 12

/* A chunk fits into an empty socket pair with any default size. */
#define CHUNK_BYTES 4096

/* The rate limit counts reads in this interval. */
#define RATE_INTERVAL_USEC (G_USEC_PER_SEC / 10)

struct BusInput {
	/* Set at creation, never changed. */
	BusInputOptions options;
	int peer_fd;    /* a duplicate, since sd-bus watches the original */
	int forward_fd; /* sd-bus reads what is written here */
	sd_bus *connection;

	sd_event_source *readable;
	sd_event_source *too_late;

	/* Until sd-bus has accepted the peer. */
	bool is_greeting;
	bool has_begun; /* the line BEGIN was passed on */
	char line[BUS_GREETING_LINE_BYTES_MAX];
	size_t n_line;
	uint32_t n_lines;

	/* Afterwards: the header while it is incomplete, then the rest of the message. */
	uint8_t header[HEADER_BYTES];
	size_t n_header;
	uint64_t n_left;
};

int bus_input_new(const BusInputOptions *options, int peer_fd, BusInput **ret, int *ret_fd)
{
	g_auto(Fd) duplicate = fcntl(peer_fd, F_DUPFD_CLOEXEC, 0);
	BusInput *input;
	int pair[2];

	if (duplicate < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
		return -errno;

	input = g_new0(BusInput, 1);
	input->options = *options;
	input->peer_fd = fd_steal(&duplicate);
	input->forward_fd = pair[0];
	input->is_greeting = true;
	*ret = input;
	*ret_fd = pair[1];
	return 0;
}

void bus_input_free(BusInput *input)
{
	if (!input)
		return;

	sd_event_source_disable_unref(input->readable);
	sd_event_source_disable_unref(input->too_late);
	fd_close(&input->peer_fd);
	fd_close(&input->forward_fd);
	g_free(input);
}

static bool forward(const BusInput *input, const void *bytes, size_t n_bytes)
{
	return send(input->forward_fd, bytes, n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)n_bytes;
}

/* Returns the number of bytes, 0 if there is nothing at the moment, or below 0 if nothing will come any more. */
static ssize_t receive(const BusInput *input, void *bytes, size_t n_bytes)
{
	ssize_t n = recv(input->peer_fd, bytes, n_bytes, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;

	return n == 0 ? -1 : n;
}

/* Whether sd-bus has read all that was passed on, and so has processed it. */
static bool is_taken(const BusInput *input)
{
	int n_left;

	return ioctl(input->forward_fd, SIOCOUTQ, &n_left) != 0 || n_left == 0;
}

/* This includes answers of the authentication, which BEGIN would have to wait for. */
static bool has_unsent_answers(const BusInput *input)
{
	int events = sd_bus_get_events(input->connection);

	return events >= 0 && events & POLLOUT;
}

/* Read byte by byte, since a message may follow the line. */
static bool read_line(BusInput *input, bool *ret_is_complete)
{
	static const char end[] = { '\r', '\n' };

	*ret_is_complete = false;
	while (input->n_line < sizeof(input->line)) {
		ssize_t n = receive(input, input->line + input->n_line, 1);

		if (n <= 0)
			return n == 0;
		input->n_line++;
		if (input->n_line >= sizeof(end) &&
		    memcmp(input->line + input->n_line - sizeof(end), end, sizeof(end)) == 0) {
			*ret_is_complete = true;
			return true;
		}
	}

	return false;
}

/*
 * Pass on one line of the authentication.  After BEGIN, nothing follows until sd-bus has accepted the peer.
 * Otherwise sd-bus could read lines that are counted as messages here.
 */
static bool pass_line(BusInput *input)
{
	static const char begin[] = "BEGIN\r\n";
	bool is_complete;

	if (input->has_begun) {
		input->is_greeting = false;
		return sd_bus_is_ready(input->connection) > 0;
	}
	if (!read_line(input, &is_complete))
		return false;
	if (!is_complete)
		return true;

	input->has_begun =
		input->n_line == strlen(begin) && memcmp(input->line, begin, strlen(begin)) == 0;
	if (++input->n_lines > BUS_GREETING_LINES_MAX ||
	    !forward(input, input->line, input->n_line))
		return false;
	input->n_line = 0;
	return true;
}

static uint32_t header_number(const BusInput *input, size_t offset)
{
	uint32_t number;

	memcpy(&number, input->header + offset, sizeof(number));
	return input->header[0] == 'l' ? GUINT32_FROM_LE(number) : GUINT32_FROM_BE(number);
}

/* The header is complete: check the length of the message. */
static bool begin_message(BusInput *input)
{
	uint64_t field_bytes = header_number(input, FIELD_LENGTH_OFFSET);
	uint64_t body_bytes = header_number(input, BODY_LENGTH_OFFSET);

	if (input->header[0] != 'l' && input->header[0] != 'B')
		return false;

	/* The body begins at a multiple of 8. */
	input->n_left = ((field_bytes + 7) & ~UINT64_C(7)) + body_bytes;
	input->n_header = 0;
	return field_bytes <= BUS_FIELDS_BYTES_MAX &&
	       HEADER_BYTES + input->n_left <= input->options.message_bytes_max;
}

static bool pass_header(BusInput *input)
{
	ssize_t n = receive(input, input->header + input->n_header, HEADER_BYTES - input->n_header);

	if (n <= 0)
		return n == 0;
	input->n_header += (size_t)n;
	if (input->n_header < HEADER_BYTES)
		return true;

	return begin_message(input) && forward(input, input->header, HEADER_BYTES);
}

static bool pass_rest(BusInput *input)
{
	char chunk[CHUNK_BYTES];
	ssize_t n = receive(input, chunk, MIN(sizeof(chunk), input->n_left));

	if (n <= 0)
		return n == 0;
	input->n_left -= (uint64_t)n;
	return forward(input, chunk, (size_t)n);
}

/* Pass on more of the present message, or begin the next one. */
static bool pass_message(BusInput *input)
{
	if (input->n_left == 0 && !pass_header(input))
		return false;

	return input->n_left == 0 || pass_rest(input);
}

static bool wait_for(const BusInput *input, uint32_t events)
{
	return sd_event_source_set_io_events(input->readable, events) >= 0;
}

static bool pass_on(BusInput *input)
{
	/* sd-bus has its turn before this is called again. */
	if (!is_taken(input))
		return true;
	if (has_unsent_answers(input))
		return wait_for(input, EPOLLOUT);

	return wait_for(input, EPOLLIN) &&
	       (input->is_greeting ? pass_line(input) : pass_message(input));
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *data)
{
	BusInput *input = data;

	if (!pass_on(input))
		input->options.given_up(input->options.data);
	return 0;
}

static int on_too_late(sd_event_source *source, uint64_t usec, void *data)
{
	BusInput *input = data;

	if (sd_bus_is_ready(input->connection) <= 0)
		input->options.given_up(input->options.data);
	return 0;
}

int bus_input_start(BusInput *input, sd_event *event, sd_bus *connection)
{
	const BusInputOptions *options = &input->options;
	int failed;

	input->connection = connection;
	failed = sd_event_add_io(event, &input->readable, input->peer_fd, EPOLLIN, on_readable,
				 input);
	if (failed >= 0)
		failed = sd_event_source_set_priority(input->readable, options->priority);
	if (failed >= 0 && options->is_rate_limited)
		failed = sd_event_source_set_ratelimit(input->readable, RATE_INTERVAL_USEC,
						       BUS_READS_PER_SECOND_MAX / 10);
	if (failed >= 0)
		failed = sd_event_add_time_relative(event, &input->too_late, CLOCK_MONOTONIC,
						    BUS_GREETING_SECONDS * G_USEC_PER_SEC, 0,
						    on_too_late, input);
	return failed;
}
