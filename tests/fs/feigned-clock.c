/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

/*
 * Preloaded, has a program believe that it runs FEIGNED_HOURS later: for waits that no test has the time
 * for.
 */
static time_t feigned_seconds(void)
{
	const char *hours = getenv("FEIGNED_HOURS");

	return hours ? strtol(hours, NULL, 10) * 3600 : 0;
}

/* GLib asks this one. */
int gettimeofday(struct timeval *ret, void *zone)
{
	static int (*real)(struct timeval *, void *);
	int failed;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "gettimeofday");

	failed = real(ret, zone);
	if (failed == 0)
		ret->tv_sec += feigned_seconds();
	return failed;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int (*real)(clockid_t, struct timespec *);
	int failed;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");

	failed = real(clock, ret);
	if (failed == 0 && clock == CLOCK_REALTIME)
		ret->tv_sec += feigned_seconds();
	return failed;
}
