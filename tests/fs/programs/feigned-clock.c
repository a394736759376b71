/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SEC_USEC 1000000
#define SEC_NSEC 1000000000

/*
 * Preloaded, has a program believe a clock that is ahead of the true one by the microseconds that the
 * file FEIGNED_CLOCK_FILE begins with, at every moment: for waits that no test has the time for.
 */
static const int64_t *ahead_usec;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("FEIGNED_CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *mapped;

	if (fd < 0)
		return;

	mapped = mmap(NULL, sizeof(*ahead_usec), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		ahead_usec = mapped;
}

static int64_t get_ahead_usec(void)
{
	return ahead_usec ? __atomic_load_n(ahead_usec, __ATOMIC_RELAXED) : 0;
}

/* GLib asks this one. */
int gettimeofday(struct timeval *ret, void *zone)
{
	static int (*real)(struct timeval *, void *);
	int64_t usec;
	int failed;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "gettimeofday");

	failed = real(ret, zone);
	usec = ret->tv_usec + get_ahead_usec();
	ret->tv_sec += usec / SEC_USEC;
	ret->tv_usec = usec % SEC_USEC;
	return failed;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int (*real)(clockid_t, struct timespec *);
	int64_t nsec;
	int failed;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");

	failed = real(clock, ret);
	if (failed != 0 || clock != CLOCK_REALTIME)
		return failed;

	nsec = ret->tv_nsec + get_ahead_usec() * 1000;
	ret->tv_sec += nsec / SEC_NSEC;
	ret->tv_nsec = nsec % SEC_NSEC;
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
