/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MSEC_NSEC 1000000
#define SEC_USEC  1000000
#define SEC_NSEC  1000000000
/* How long a jump of the clock may go unnoticed by a program that waits. */
#define LOOK_NSEC   (20 * MSEC_NSEC)
#define MAX_TIMERFD 1024

/*
 * Preloaded, has a program believe a clock that is ahead of the true one by the microseconds that the
 * file FEIGNED_CLOCK_FILE begins with, at every moment: for waits that no test has the time for.
 *
 * With FEIGNED_WAITS, also the monotonic clock is ahead, by the number that follows in the file.  Timers of
 * that clock end when the feigned clock says so, if the program waits for them by epoll.  Sleeps stay true.
 */
typedef struct {
	int64_t ahead_usec;
	int64_t monotonic_ahead_usec;
} Feigned;

typedef struct {
	bool is_armed;
	struct itimerspec feigned; /* absolute */
} Timer;

static const Feigned *shared;
static bool feigns_waits;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by mutex.  By descriptor. */
static Timer timers[MAX_TIMERFD];
static int64_t armed_ahead_usec;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("FEIGNED_CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *mapped;

	if (fd < 0)
		return;

	mapped = mmap(NULL, sizeof(*shared), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED)
		return;
	shared = mapped;
	feigns_waits = getenv("FEIGNED_WAITS") != NULL;
}

static int64_t get_ahead_usec(void)
{
	return shared ? __atomic_load_n(&shared->ahead_usec, __ATOMIC_RELAXED) : 0;
}

static int64_t get_monotonic_ahead_usec(void)
{
	return feigns_waits ? __atomic_load_n(&shared->monotonic_ahead_usec, __ATOMIC_RELAXED) : 0;
}

static void add_usec(struct timespec *time, int64_t usec)
{
	int64_t nsec = time->tv_nsec + usec % SEC_USEC * 1000;

	time->tv_sec += usec / SEC_USEC + nsec / SEC_NSEC;
	time->tv_nsec = nsec % SEC_NSEC;
	if (time->tv_nsec < 0) {
		time->tv_sec--;
		time->tv_nsec += SEC_NSEC;
	}
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
	int failed;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");

	failed = real(clock, ret);
	if (failed != 0)
		return failed;
	if (clock == CLOCK_REALTIME)
		add_usec(ret, get_ahead_usec());
	else if (clock == CLOCK_MONOTONIC)
		add_usec(ret, get_monotonic_ahead_usec());
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

static int real_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *ret)
{
	static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "timerfd_settime");

	return real(fd, flags, when, ret);
}

/* Have the kernel's timer end when the feigned clock reaches @feigned.  The mutex is held. */
static int arm(int fd, const struct itimerspec *feigned, int64_t ahead_usec)
{
	struct itimerspec when = *feigned;

	add_usec(&when.it_value, -ahead_usec);
	/* Zero would disarm it, and this moment is over. */
	if (when.it_value.tv_sec < 0 || (when.it_value.tv_sec == 0 && when.it_value.tv_nsec == 0))
		when.it_value = (struct timespec){ .tv_nsec = 1 };
	return real_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Ignores which clock the timer goes by: programs under test have timers of the monotonic one only. */
int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *ret)
{
	int64_t ahead_usec = get_monotonic_ahead_usec();
	bool is_armed = when->it_value.tv_sec != 0 || when->it_value.tv_nsec != 0;
	int failed;

	if (!feigns_waits || fd >= MAX_TIMERFD || !(flags & TFD_TIMER_ABSTIME))
		return real_settime(fd, flags, when, ret);

	pthread_mutex_lock(&mutex);
	timers[fd] = (Timer){ is_armed, *when };
	failed = is_armed ? arm(fd, when, ahead_usec) : real_settime(fd, flags, when, ret);
	pthread_mutex_unlock(&mutex);
	return failed;
}

/* The next file may get the number of the timer. */
int close(int fd)
{
	static int (*real)(int);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "close");

	if (feigns_waits && fd >= 0 && fd < MAX_TIMERFD) {
		pthread_mutex_lock(&mutex);
		timers[fd].is_armed = false;
		pthread_mutex_unlock(&mutex);
	}
	return real(fd);
}

/* After a jump of the clock. */
static void arm_again(void)
{
	int64_t ahead_usec = get_monotonic_ahead_usec();

	pthread_mutex_lock(&mutex);
	for (int fd = 0; fd < MAX_TIMERFD && ahead_usec != armed_ahead_usec; fd++)
		if (timers[fd].is_armed)
			arm(fd, &timers[fd].feigned, ahead_usec);
	armed_ahead_usec = ahead_usec;
	pthread_mutex_unlock(&mutex);
}

int epoll_wait(int fd, struct epoll_event *ret, int most, int timeout_msec)
{
	static int (*real)(int, struct epoll_event *, int, int);
	int n = 0;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "epoll_wait");
	if (!feigns_waits)
		return real(fd, ret, most, timeout_msec);

	for (int left_msec = timeout_msec; n == 0;
	     left_msec -= left_msec > 0 ? LOOK_NSEC / MSEC_NSEC : 0) {
		int look_msec = LOOK_NSEC / MSEC_NSEC;

		arm_again();
		if (left_msec >= 0 && left_msec <= look_msec)
			return real(fd, ret, most, left_msec);
		n = real(fd, ret, most, look_msec);
	}
	return n;
}

/* What newer libraries of systemd wait by. */
int epoll_pwait2(int fd, struct epoll_event *ret, int most, const struct timespec *timeout,
		 const sigset_t *signals)
{
	static int (*real)(int, struct epoll_event *, int, const struct timespec *,
			   const sigset_t *);
	const struct timespec look = { .tv_nsec = LOOK_NSEC };
	int n = 0;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "epoll_pwait2");
	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	if (!feigns_waits)
		return real(fd, ret, most, timeout, signals);

	/* Its timeouts are short or none: deadlines are timers. */
	if (timeout) {
		arm_again();
		return real(fd, ret, most, timeout, signals);
	}
	while (n == 0) {
		arm_again();
		n = real(fd, ret, most, &look, signals);
	}
	return n;
}

/* All conditions of programs under test go by the monotonic clock. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *held,
			   const struct timespec *until)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	struct timespec when = *until;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");

	add_usec(&when, -get_monotonic_ahead_usec());
	return real(condition, held, &when);
}
