/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/pass-conditions.h"

#include "common/mounts/filesystem-hold.h"
#include "common/mounts/filesystem-lock.h"
#include "kernel-ioctl/machine/device-health.h"
#include "kernel-ioctl/machine/disk-stat.h"
#include "kernel-ioctl/machine/power-supply.h"

#define DISK_SLEEP_USEC (INT64_C(600) * 1000000)

/*
 * How long a disk has been idle, by the counters of all its requests.  Sysfs has them without asking the disk.
 * Requests of passes count, too: the disk turns after them.
 */
typedef struct {
	uint64_t requests;   /* completed at the last look */
	int64_t active_usec; /* when a look last saw more of them */
	bool is_seen;
} DiskSleep;

struct PassConditions {
	/* Set at creation, never changed. */
	DiskTable *table;

	DeviceHealth health; /* at the last look */
	char *work;          /* the maintenance that runs, in a sentence; NULL: none */
	char *holder;        /* who works on it, in a sentence; NULL: nobody */
	char *hold;          /* who has put it on hold, in a sentence; NULL: nobody */
	GHashTable *sleeps;  /* the name of a disk -> DiskSleep */
};

PassConditions *pass_conditions_new(DiskTable *table)
{
	PassConditions *conditions = g_new0(PassConditions, 1);

	conditions->table = table;
	conditions->sleeps = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return conditions;
}

static void forget(PassConditions *conditions)
{
	device_health_clear(&conditions->health);
	g_clear_pointer(&conditions->work, g_free);
	g_clear_pointer(&conditions->holder, g_free);
	g_clear_pointer(&conditions->hold, g_free);
}

void pass_conditions_free(PassConditions *conditions)
{
	if (!conditions)
		return;

	forget(conditions);
	g_hash_table_unref(conditions->sleeps);
	g_free(conditions);
}

static DiskSleep *sleep_of(PassConditions *conditions, const Disk *disk)
{
	DiskSleep *sleep = g_hash_table_lookup(conditions->sleeps, disk->name);

	if (!sleep) {
		sleep = g_new0(DiskSleep, 1);
		g_hash_table_insert(conditions->sleeps, g_strdup(disk->name), sleep);
	}
	return sleep;
}

/* Whether the disk has been idle for so long that it may have stopped turning.  It is awake at the first look. */
static bool is_idle(DiskSleep *sleep, uint64_t requests, int64_t now_usec)
{
	if (!sleep->is_seen || sleep->requests != requests)
		sleep->active_usec = now_usec;
	sleep->is_seen = true;
	sleep->requests = requests;
	return now_usec - sleep->active_usec >= DISK_SLEEP_USEC;
}

/* A disk that does not rotate does not sleep. */
static bool is_asleep(PassConditions *conditions, const Disk *disk, int64_t now_usec)
{
	DiskStat stat;

	if (!disk_stat_read(disk->stat_path, &stat))
		return false;

	return is_idle(sleep_of(conditions, disk), stat.reads + stat.writes, now_usec) &&
	       disk_table_is_rotating(conditions->table, disk);
}

void pass_conditions_look(PassConditions *conditions, const DiskTopology *topology,
			  const FsLocation *location, const GPtrArray *disks, ScheduleState *state)
{
	DeviceHealth *health = &conditions->health;
	const char *work;

	forget(conditions);
	device_health_read(topology, location, health);
	work = health->array_work ? health->array_work : health->btrfs_work;
	if (work)
		conditions->work = g_strdup_printf("%s is going on", work);

	state->is_degraded = health->lack;
	state->is_in_work = work;
	state->is_held = false;
	state->is_on_battery = power_supply_is_battery(topology->sysfs);
	state->is_disk_asleep = false;
	/* Look at each: otherwise its activity would be missed. */
	for (size_t i = 0; i < disks->len; i++)
		if (is_asleep(conditions, disks->pdata[i], state->now_usec))
			state->is_disk_asleep = true;
}

void pass_conditions_look_closer(PassConditions *conditions, const char *uuid,
				 bool is_being_scrubbed, ScheduleState *state)
{
	g_autofree char *holder = filesystem_lock_holder(uuid);
	g_autofree char *hold = filesystem_hold_holder(uuid);

	state->is_on_hold = hold;
	if (hold)
		conditions->hold = g_strdup_printf("%s has put it on hold", hold);
	state->is_held = holder;
	if (holder)
		conditions->holder = g_strdup_printf("%s works on it", holder);
	if (!is_being_scrubbed)
		return;

	state->is_in_work = true;
	conditions->work = g_strdup("a scrub is going on");
}

const char *pass_conditions_text(const PassConditions *conditions, WaitReason reason)
{
	if (reason == WAIT_DEGRADED)
		return conditions->health.lack;

	if (reason == WAIT_LOCKED)
		return conditions->holder;

	if (reason == WAIT_ON_HOLD)
		return conditions->hold;

	return reason == WAIT_MAINTENANCE ? conditions->work : NULL;
}
