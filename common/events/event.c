/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/events/event.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NSEC_PER_USEC 1000

typedef enum {
	SOURCE_IO,
	SOURCE_SIGNAL,
	SOURCE_TIME,
	SOURCE_DEFER, /* a timer, too */
} SourceKind;

struct sd_event {
	unsigned n_references;
	int epoll;
	GPtrArray *own; /* sd_event_source: those that the caller has no reference to */
	bool is_exited;
	int exit_code;
};

struct sd_event_source {
	unsigned n_references;
	sd_event *event;
	bool is_own; /* the loop has the only reference, and the source has none to the loop */
	SourceKind kind;
	int fd;
	uint32_t events;
	int enabled;
	clockid_t clock;
	uint64_t usec; /* of a timer */
	union {
		sd_event_io_handler_t io;
		sd_event_signal_handler_t signal;
		sd_event_time_handler_t time;
		sd_event_handler_t defer;
	} handler;
	void *data;
};

static void source_unref(void *source)
{
	sd_event_source_unref(source);
}

int sd_event_new(sd_event **ret)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	sd_event *event;

	if (epoll < 0)
		return -errno;

	event = g_new0(sd_event, 1);
	event->n_references = 1;
	event->epoll = epoll;
	event->own = g_ptr_array_new_with_free_func(source_unref);
	*ret = event;
	return 0;
}

sd_event *sd_event_unref(sd_event *event)
{
	if (!event || --event->n_references > 0)
		return NULL;

	g_ptr_array_unref(event->own);
	close(event->epoll);
	g_free(event);
	return NULL;
}

static bool is_timer(const sd_event_source *source)
{
	return source->kind == SOURCE_TIME || source->kind == SOURCE_DEFER;
}

sd_event_source *sd_event_source_unref(sd_event_source *source)
{
	if (!source || --source->n_references > 0)
		return NULL;

	epoll_ctl(source->event->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	if (source->kind != SOURCE_IO)
		close(source->fd);
	if (!source->is_own)
		sd_event_unref(source->event);
	g_free(source);
	return NULL;
}

sd_event *sd_event_source_get_event(sd_event_source *source)
{
	return source->event;
}

int sd_event_source_get_enabled(sd_event_source *source, int *ret)
{
	if (ret)
		*ret = source->enabled;
	return source->enabled != SD_EVENT_OFF;
}

/* A time of 0 would disarm a timer that is due. */
static int arm(const sd_event_source *source)
{
	struct itimerspec when = { 0 };

	if (source->enabled != SD_EVENT_OFF) {
		when.it_value.tv_sec = (time_t)(source->usec / G_USEC_PER_SEC);
		when.it_value.tv_nsec = (long)(source->usec % G_USEC_PER_SEC) * NSEC_PER_USEC;
		if (source->usec == 0)
			when.it_value.tv_nsec = 1;
	}
	return timerfd_settime(source->fd, TFD_TIMER_ABSTIME, &when, NULL) == 0 ? 0 : -errno;
}

int sd_event_source_set_enabled(sd_event_source *source, int enabled)
{
	struct epoll_event wanted = { .events = source->events, .data.ptr = source };
	bool was_on = source->enabled != SD_EVENT_OFF, is_on = enabled != SD_EVENT_OFF;

	source->enabled = enabled;
	if (is_timer(source))
		return arm(source);
	if (was_on == is_on)
		return 0;
	return epoll_ctl(source->event->epoll, is_on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, source->fd,
			 &wanted) == 0
		       ? 0
		       : -errno;
}

int sd_event_source_set_time(sd_event_source *source, uint64_t usec)
{
	source->usec = usec;
	return arm(source);
}

static uint64_t time_in(clockid_t clock, uint64_t usec)
{
	struct timespec now;
	uint64_t now_usec;

	clock_gettime(clock, &now);
	now_usec = (uint64_t)now.tv_sec * G_USEC_PER_SEC + (uint64_t)now.tv_nsec / NSEC_PER_USEC;
	return usec > UINT64_MAX - now_usec ? UINT64_MAX : now_usec + usec;
}

int sd_event_source_set_time_relative(sd_event_source *source, uint64_t usec)
{
	return sd_event_source_set_time(source, time_in(source->clock, usec));
}

/* Add a copy of @like, whose descriptor is consumed unless the caller watches it.  *@ret is the caller's reference. */
static int add(sd_event *event, sd_event_source **ret, const sd_event_source *like)
{
	struct epoll_event wanted = { .events = like->events };
	sd_event_source *source;

	if (like->fd < 0)
		return -errno;

	source = g_memdup2(like, sizeof(*like));
	source->n_references = 1;
	source->event = event;
	source->is_own = !ret;
	wanted.data.ptr = source;
	if (epoll_ctl(event->epoll, EPOLL_CTL_ADD, source->fd, &wanted) != 0) {
		int failed = -errno;

		if (source->kind != SOURCE_IO)
			close(source->fd);
		g_free(source);
		return failed;
	}

	if (ret) {
		event->n_references++;
		*ret = source;
	} else {
		g_ptr_array_add(event->own, source);
	}
	return is_timer(source) ? arm(source) : 0;
}

int sd_event_add_io(sd_event *event, sd_event_source **ret, int fd, uint32_t events,
		    sd_event_io_handler_t handler, void *data)
{
	const sd_event_source like = { .kind = SOURCE_IO,
				       .fd = fd,
				       .events = events,
				       .enabled = SD_EVENT_ON,
				       .handler.io = handler,
				       .data = data };

	return add(event, ret, &like);
}

int sd_event_add_signal(sd_event *event, sd_event_source **ret, int signal,
			sd_event_signal_handler_t handler, void *data)
{
	sd_event_source like = { .kind = SOURCE_SIGNAL,
				 .events = EPOLLIN,
				 .enabled = SD_EVENT_ON,
				 .handler.signal = handler,
				 .data = data };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, signal);
	like.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return add(event, ret, &like);
}

int sd_event_add_time(sd_event *event, sd_event_source **ret, clockid_t clock, uint64_t usec,
		      uint64_t accuracy, sd_event_time_handler_t handler, void *data)
{
	const sd_event_source like = { .kind = SOURCE_TIME,
				       .fd = timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK),
				       .events = EPOLLIN,
				       .enabled = SD_EVENT_ONESHOT,
				       .clock = clock,
				       .usec = usec,
				       .handler.time = handler,
				       .data = data };

	return add(event, ret, &like);
}

int sd_event_add_time_relative(sd_event *event, sd_event_source **ret, clockid_t clock,
			       uint64_t usec, uint64_t accuracy, sd_event_time_handler_t handler,
			       void *data)
{
	return sd_event_add_time(event, ret, clock, time_in(clock, usec), accuracy, handler, data);
}

int sd_event_add_defer(sd_event *event, sd_event_source **ret, sd_event_handler_t handler,
		       void *data)
{
	const sd_event_source like = { .kind = SOURCE_DEFER,
				       .fd = timerfd_create(CLOCK_MONOTONIC,
							    TFD_CLOEXEC | TFD_NONBLOCK),
				       .events = EPOLLIN,
				       .enabled = SD_EVENT_ONESHOT,
				       .clock = CLOCK_MONOTONIC,
				       .handler.defer = handler,
				       .data = data };

	return add(event, ret, &like);
}

/* Call the handler of a timer that is due.  It is off meanwhile, so that the handler may set it again. */
static int dispatch_timer(sd_event_source *source)
{
	uint64_t n_expired;

	/* It may have been set to a later time since the kernel reported it. */
	if (read(source->fd, &n_expired, sizeof(n_expired)) != (ssize_t)sizeof(n_expired))
		return 0;

	if (source->enabled == SD_EVENT_ONESHOT)
		source->enabled = SD_EVENT_OFF;
	return source->kind == SOURCE_TIME
		       ? source->handler.time(source, source->usec, source->data)
		       : source->handler.defer(source, source->data);
}

static int dispatch(sd_event_source *source, uint32_t events)
{
	struct signalfd_siginfo info;

	if (is_timer(source))
		return dispatch_timer(source);
	if (source->kind == SOURCE_IO)
		return source->handler.io(source, source->fd, events, source->data);
	if (read(source->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return source->handler.signal(source, &info, source->data);
}

int sd_event_run(sd_event *event, uint64_t usec)
{
	/* Not before the time. */
	int msec = usec >= (uint64_t)INT_MAX * 1000 ? -1 : (int)((usec + 999) / 1000);
	struct epoll_event got;
	sd_event_source *source;
	int n;

	if (event->is_exited)
		return -ESTALE;

	n = epoll_wait(event->epoll, &got, 1, msec);
	if (n <= 0)
		return n == 0 || errno == EINTR ? 0 : -errno;

	/* The handler may drop the last references. */
	source = got.data.ptr;
	source->n_references++;
	event->n_references++;
	if (dispatch(source, got.events) < 0)
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	sd_event_source_unref(source);
	sd_event_unref(event);
	return 1;
}

int sd_event_loop(sd_event *event)
{
	int failed = 0;

	while (!event->is_exited && failed >= 0)
		failed = sd_event_run(event, UINT64_MAX);

	return event->is_exited ? event->exit_code : failed;
}

int sd_event_exit(sd_event *event, int code)
{
	event->is_exited = true;
	event->exit_code = code;
	return 0;
}
