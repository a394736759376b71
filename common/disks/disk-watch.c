/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/disk-watch.h"

#include "common/disks/disk-pressure.h"
#include "kernel-ioctl/machine/disk-stat.h"

#include <pthread.h>
#include <stdatomic.h>

/* An older look does not count: no pass worked since. */
#define STALE_USEC (10 * DISK_PRESSURE_LOOK_USEC)

/* The size of a request for data, as the throttle charges it.  Requests for metadata are smaller. */
#define REQUEST_BYTES (UINT64_C(128) << 10)

struct DiskWatch {
	char *stat_path;
	DiskBudget *budget;
	atomic_int_least64_t due_usec; /* of the next look */
	pthread_mutex_t mutex;

	/* Guarded by mutex. */
	DiskPressure pressure;
	int64_t looked_usec; /* 0: never */
	DiskStat stat;
	uint64_t charged_bytes;
};

static void apply(DiskWatch *watch, uint64_t rate_bytes)
{
	const DiskLimits limits = {
		.bytes = rate_bytes,
		.requests = (rate_bytes + REQUEST_BYTES - 1) / REQUEST_BYTES,
	};

	disk_budget_set_pressure(watch->budget, &limits);
}

DiskWatch *disk_watch_new(const char *stat_path, DiskBudget *budget)
{
	DiskWatch *watch = g_new0(DiskWatch, 1);

	watch->stat_path = g_strdup(stat_path);
	watch->budget = disk_budget_ref(budget);
	pthread_mutex_init(&watch->mutex, NULL);
	return watch;
}

void disk_watch_free(DiskWatch *watch)
{
	if (!watch)
		return;

	pthread_mutex_destroy(&watch->mutex);
	disk_budget_unref(watch->budget);
	g_free(watch->stat_path);
	g_free(watch);
}

static uint64_t bytes_of(const DiskStat *stat)
{
	return stat->read_bytes + stat->write_bytes;
}

static void begin(DiskWatch *watch)
{
	disk_pressure_begin(&watch->pressure);
	apply(watch, (uint64_t)watch->pressure.rate_bytes);
}

static void compare(DiskWatch *watch, const DiskStat *now, uint64_t charged_bytes, int64_t usec)
{
	int64_t own_bytes = (int64_t)(charged_bytes - watch->charged_bytes);
	const PressureSample sample = {
		.usec = usec,
		/* Refunds can make the charge negative. */
		.own_bytes = (uint64_t)MAX(own_bytes, 0),
		.all_bytes = bytes_of(now) - bytes_of(&watch->stat),
		.busy_usec = (int64_t)(now->busy_msec - watch->stat.busy_msec) * 1000,
	};

	apply(watch, usec > STALE_USEC ? disk_pressure_resume(&watch->pressure, &sample)
				       : disk_pressure_look(&watch->pressure, &sample));
}

/* The caller holds the mutex.  A disk that is gone has no limit. */
static void look(DiskWatch *watch, int64_t now_usec)
{
	uint64_t charged_bytes = disk_budget_charged_bytes(watch->budget);
	DiskStat now;

	if (!disk_stat_read(watch->stat_path, &now)) {
		apply(watch, 0);
		return;
	}

	if (watch->looked_usec == 0)
		begin(watch);
	else
		compare(watch, &now, charged_bytes, now_usec - watch->looked_usec);
	watch->looked_usec = now_usec;
	watch->stat = now;
	watch->charged_bytes = charged_bytes;
}

bool disk_watch_is_due(const DiskWatch *watch, int64_t now_usec)
{
	return now_usec >= atomic_load(&watch->due_usec);
}

void disk_watch_look(DiskWatch *watch, int64_t now_usec)
{
	if (!disk_watch_is_due(watch, now_usec) || !disk_budget_rules(watch->budget).makes_way ||
	    pthread_mutex_trylock(&watch->mutex) != 0)
		return;

	/* Another thread may have looked just before. */
	if (disk_watch_is_due(watch, now_usec)) {
		look(watch, now_usec);
		atomic_store(&watch->due_usec,
			     now_usec + disk_pressure_next_look_usec(&watch->pressure));
	}
	pthread_mutex_unlock(&watch->mutex);
}
