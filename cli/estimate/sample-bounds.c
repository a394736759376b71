/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/sample-bounds.h"

#include <glib.h>
#include <math.h>

Bounded bounded_exactly(uint64_t bytes)
{
	return (Bounded){ bytes, bytes, bytes };
}

double sample_deviation(const SampleFrame *frame)
{
	double chance = (1 - SAMPLE_CONFIDENCE) / SAMPLE_NUMBERS;

	return sqrt(log(2 / chance) / 2 * frame->squares);
}

static uint64_t whole_bytes(double bytes)
{
	return bytes <= 0 ? 0 : (uint64_t)bytes;
}

static Bounded within(double bytes, double low, double high, double least, double most)
{
	low = MAX(low, least);
	high = MAX(MIN(high, most), low);
	return (Bounded){ whole_bytes(CLAMP(bytes, low, high)), whole_bytes(low),
			  whole_bytes(ceil(high)) };
}

Bounded sample_savings(const SampleFrame *frame, const SampleCount *count)
{
	double q = frame->fraction;
	double saved = (double)count->saved_bytes;
	double deviation = sample_deviation(frame);
	double distinct = (double)(count->bytes - count->saved_bytes);
	double guess = (double)count->bytes / q - (sqrt(1 / q) * (double)count->single_bytes +
						   (distinct - (double)count->single_bytes));

	if (q >= 1)
		return bounded_exactly(count->saved_bytes);
	/* The data seen exists, and at least the different blocks seen remain. */
	return within(guess, (saved - deviation) / q, (saved + deviation) / (q * q), saved,
		      (double)frame->total_bytes - distinct);
}

Bounded sample_total(const SampleFrame *frame, uint64_t sample_bytes)
{
	double q = frame->fraction;
	double seen = (double)sample_bytes;
	double deviation = sample_deviation(frame);

	if (q >= 1)
		return bounded_exactly(sample_bytes);
	return within(seen / q, (seen - deviation) / q, (seen + deviation) / q, seen,
		      (double)frame->total_bytes);
}
