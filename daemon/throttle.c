/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/throttle.h"

#include <unistd.h>

/* How long a wait may last before @stop is looked at again. */
#define NAP_USEC 50000

struct Throttle {
	uint64_t rate_bytes;
	ThrottleClock clock;
	int64_t filled_usec; /* when the bucket was last filled */
	double level_bytes;  /* below zero: debt */
};

static int64_t real_now_usec(void *data)
{
	return g_get_monotonic_time();
}

static void real_sleep_usec(int64_t usec, void *data)
{
	g_usleep(usec);
}

Throttle *throttle_new(uint64_t rate_bytes, const ThrottleClock *clock)
{
	static const ThrottleClock real_clock = { real_now_usec, real_sleep_usec, NULL };
	Throttle *throttle = g_new0(Throttle, 1);

	throttle->rate_bytes = rate_bytes;
	throttle->clock = clock ? *clock : real_clock;
	throttle->filled_usec = throttle->clock.now_usec(throttle->clock.data);
	return throttle;
}

void throttle_free(Throttle *throttle)
{
	g_free(throttle);
}

bool throttle_is_limited(const Throttle *throttle)
{
	return throttle->rate_bytes > 0;
}

static void fill(Throttle *throttle)
{
	int64_t now_usec = throttle->clock.now_usec(throttle->clock.data);
	double rate = (double)throttle->rate_bytes;

	throttle->level_bytes += rate * (double)(now_usec - throttle->filled_usec) / G_USEC_PER_SEC;
	throttle->level_bytes = MIN(throttle->level_bytes, rate / 4);
	throttle->filled_usec = now_usec;
}

bool throttle_take(Throttle *throttle, uint64_t bytes, const atomic_bool *stop)
{
	if (throttle->rate_bytes == 0 || bytes == 0)
		return !atomic_load(stop);

	for (fill(throttle); throttle->level_bytes < 0; fill(throttle)) {
		double wait_usec = -throttle->level_bytes * G_USEC_PER_SEC / throttle->rate_bytes;

		if (atomic_load(stop))
			return false;
		throttle->clock.sleep_usec(CLAMP((int64_t)wait_usec, 1, NAP_USEC),
					   throttle->clock.data);
	}

	throttle->level_bytes -= (double)bytes;
	return !atomic_load(stop);
}
