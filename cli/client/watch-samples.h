/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * WatchSamples - bytes read and freed per second in each interval of the last minutes.  The input is counters,
 * which decrease only when a filesystem or disk goes away.
 *
 * Pure.  Thread: any.
 */
#define WATCH_SAMPLES 300

typedef struct {
	int64_t taken_usec;               /* 0: no sample yet */
	uint64_t read_bytes, freed_bytes; /* the counters then */
	size_t n;
	uint64_t read_rates[WATCH_SAMPLES]; /* bytes per second, the oldest first */
	uint64_t freed_rates[WATCH_SAMPLES];
} WatchSamples;

/* Add the counters' values at @now_usec, on a monotonic clock. */
void watch_samples_add(WatchSamples *samples, int64_t now_usec, uint64_t read_bytes,
		       uint64_t freed_bytes);

/* Pause sampling until the next watch_samples_add().  The time in between does not count. */
void watch_samples_pause(WatchSamples *samples);
