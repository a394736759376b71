/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/watch-samples.h"

#include <glib.h>
#include <string.h>

static uint64_t rate_of(uint64_t now, uint64_t before, int64_t took_usec)
{
	if (now <= before)
		return 0;
	return (uint64_t)((double)(now - before) * G_USEC_PER_SEC / (double)took_usec);
}

static void push(WatchSamples *samples, uint64_t read_rate, uint64_t freed_rate)
{
	if (samples->n == WATCH_SAMPLES) {
		samples->n--;
		memmove(samples->read_rates, samples->read_rates + 1,
			samples->n * sizeof(samples->read_rates[0]));
		memmove(samples->freed_rates, samples->freed_rates + 1,
			samples->n * sizeof(samples->freed_rates[0]));
	}
	samples->read_rates[samples->n] = read_rate;
	samples->freed_rates[samples->n++] = freed_rate;
}

void watch_samples_add(WatchSamples *samples, int64_t now_usec, uint64_t read_bytes,
		       uint64_t freed_bytes)
{
	int64_t took_usec = now_usec - samples->taken_usec;

	if (samples->taken_usec != 0 && took_usec <= 0)
		return;
	if (samples->taken_usec != 0)
		push(samples, rate_of(read_bytes, samples->read_bytes, took_usec),
		     rate_of(freed_bytes, samples->freed_bytes, took_usec));
	samples->taken_usec = now_usec;
	samples->read_bytes = read_bytes;
	samples->freed_bytes = freed_bytes;
}

void watch_samples_pause(WatchSamples *samples)
{
	samples->taken_usec = 0;
}
