/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Throttle - how many bytes per second may be read.
 *
 * A bucket that fills at the rate and holds a quarter of a second of it; what is larger than the
 * bucket puts it in debt, which the next one waits for.  The clock is passed in so that tests own
 * the time.
 *
 * Thread: the filesystem's worker.
 */
typedef struct Throttle Throttle;

typedef struct {
	int64_t (*now_usec)(void *data); /* monotonic */
	void (*sleep_usec)(int64_t usec, void *data);
	void *data;
} ThrottleClock;

/* @rate_bytes 0: no limit.  @clock NULL: the real one. */
Throttle *throttle_new(uint64_t rate_bytes, const ThrottleClock *clock);
void throttle_free(Throttle *throttle);

/* Whether there is a limit at all. */
bool throttle_is_limited(const Throttle *throttle);

/* Wait for leave to read @bytes.  Returns false if @stop was raised meanwhile. */
bool throttle_take(Throttle *throttle, uint64_t bytes, const atomic_bool *stop);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Throttle, throttle_free)
