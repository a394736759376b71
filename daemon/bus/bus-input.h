/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

/*
 * BusInput - passes the messages of a peer of the private socket on to sd-bus, one at a time.
 *
 * sd-bus reads a message of up to 128 MiB into memory before anything can refuse it.  So BusInput reads the peer's
 * socket itself.  It parses the fixed header of each message, and gives up the peer if the message is too long.  It
 * writes the rest into a socket pair that sd-bus reads. sd-bus writes its answers to the peer's socket directly.
 *
 * BusInput passes on the next message when sd-bus has taken the last one, and the peer all answers.  So a peer
 * occupies the memory of one message and one answer, besides signals.  The kernel drops descriptors that the peer
 * passes, because BusInput never receives control messages.
 *
 * Thread: main.
 */
typedef struct BusInput BusInput;

/* A peer that has not authenticated by then is given up. */
#define BUS_GREETING_SECONDS 10

/* Authentication takes 2 to 5 short lines. */
#define BUS_GREETING_LINES_MAX      16
#define BUS_GREETING_LINE_BYTES_MAX 256

/*
 * The fields of a message's header: path, interface, member, destination, sender and signature.
 * sd-bus looks up each prefix of a path.  The time for that grows with the square of the length.
 */
#define BUS_FIELDS_BYTES_MAX 2048

/* A short message takes 2 to 4 reads. */
#define BUS_READS_PER_SECOND_MAX 5000

typedef struct {
	uint64_t message_bytes_max;
	int64_t priority;     /* in the event loop */
	bool is_rate_limited; /* to BUS_READS_PER_SECOND_MAX */
	/* The peer sent something that is not allowed, or hung up.  BusInput may be freed in here. */
	void (*given_up)(void *data);
	void *data;
} BusInputOptions;

/* @peer_fd is duplicated.  *@ret_fd is the end that sd-bus is to read; the caller closes it.  Returns a negative errno. */
int bus_input_new(const BusInputOptions *options, int peer_fd, BusInput **ret, int *ret_fd);

/* Begin to read for @connection, which is borrowed. */
int bus_input_start(BusInput *input, sd_event *event, sd_bus *connection);

void bus_input_free(BusInput *input);
