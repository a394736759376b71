/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#ifndef WITHOUT_SYSTEMD

#include <systemd/sd-event.h>

#else

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>

/*
 * sd_event - the part of sd-event(3) that dedupd uses, for builds without libsystemd.
 *
 * All functions do what that manual says, with these limits: there are no priorities and no accuracy, only timers
 * may be SD_EVENT_ONESHOT, and nothing feeds a watchdog.  A source without @ret lives as long as its loop.
 * Functions return a negative errno.
 *
 * Thread: main.
 */
typedef struct sd_event sd_event;
typedef struct sd_event_source sd_event_source;

enum {
	SD_EVENT_OFF = 0,
	SD_EVENT_ON = 1,
	SD_EVENT_ONESHOT = -1,
};

typedef int (*sd_event_handler_t)(sd_event_source *source, void *data);
typedef int (*sd_event_io_handler_t)(sd_event_source *source, int fd, uint32_t events, void *data);
typedef int (*sd_event_time_handler_t)(sd_event_source *source, uint64_t usec, void *data);
typedef int (*sd_event_signal_handler_t)(sd_event_source *source,
					 const struct signalfd_siginfo *info, void *data);

int sd_event_new(sd_event **ret);
sd_event *sd_event_unref(sd_event *event);

/* Wait for at most @usec, UINT64_MAX for ever, and call one handler.  Returns 0 if there was no event. */
int sd_event_run(sd_event *event, uint64_t usec);

/* Run until sd_event_exit(); returns its @code. */
int sd_event_loop(sd_event *event);
int sd_event_exit(sd_event *event, int code);

static inline int sd_event_set_watchdog(sd_event *event, int on)
{
	return 0;
}

int sd_event_add_io(sd_event *event, sd_event_source **ret, int fd, uint32_t events,
		    sd_event_io_handler_t handler, void *data);

/* The signal must be blocked in all threads. */
int sd_event_add_signal(sd_event *event, sd_event_source **ret, int signal,
			sd_event_signal_handler_t handler, void *data);

/* One shot.  @clock is CLOCK_MONOTONIC or CLOCK_REALTIME. */
int sd_event_add_time(sd_event *event, sd_event_source **ret, clockid_t clock, uint64_t usec,
		      uint64_t accuracy, sd_event_time_handler_t handler, void *data);
int sd_event_add_time_relative(sd_event *event, sd_event_source **ret, clockid_t clock,
			       uint64_t usec, uint64_t accuracy, sd_event_time_handler_t handler,
			       void *data);

/* One shot, as soon as the loop runs. */
int sd_event_add_defer(sd_event *event, sd_event_source **ret, sd_event_handler_t handler,
		       void *data);

sd_event_source *sd_event_source_unref(sd_event_source *source);
sd_event *sd_event_source_get_event(sd_event_source *source);
int sd_event_source_set_enabled(sd_event_source *source, int enabled);
int sd_event_source_get_enabled(sd_event_source *source, int *ret);
int sd_event_source_set_time(sd_event_source *source, uint64_t usec);
int sd_event_source_set_time_relative(sd_event_source *source, uint64_t usec);

#endif
