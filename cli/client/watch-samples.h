/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * WatchSamples - what was read and freed in a second, in each interval of the last minutes, from counters
 * that only grow, save where something goes away.
 *
 * Pure.  Thread: any.
 */
#define WATCH_SAMPLES 300

typedef struct {
	int64_t taken_usec;               /* 0: none was yet */
	uint64_t read_bytes, freed_bytes; /* the counters then */
	size_t n;
	uint64_t read_rates[WATCH_SAMPLES]; /* bytes per second, the oldest first */
	uint64_t freed_rates[WATCH_SAMPLES];
} WatchSamples;

/* Add what the counters say at @now_usec, on a monotonic clock. */
void watch_samples_add(WatchSamples *samples, int64_t now_usec, uint64_t read_bytes,
		       uint64_t freed_bytes);

/* Nothing is looked at from here on until the next call of the other: what lies between counts not. */
void watch_samples_pause(WatchSamples *samples);
