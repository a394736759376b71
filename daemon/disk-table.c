/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/disk-table.h"

#include "kernel-ioctl/disk-topology.h"

#include <glib.h>
#include <pthread.h>

typedef struct {
	unsigned major;
	unsigned minor;
	DiskBudget *budget;
	DiskWatch *watch;
} Entry;

struct DiskTable {
	pthread_mutex_t mutex;
	GPtrArray *entries; /* Entry; guarded by mutex */
};

static void entry_free(void *data)
{
	Entry *entry = data;

	disk_watch_free(entry->watch);
	disk_budget_unref(entry->budget);
	g_free(entry);
}

DiskTable *disk_table_new(void)
{
	DiskTable *table = g_new0(DiskTable, 1);

	pthread_mutex_init(&table->mutex, NULL);
	table->entries = g_ptr_array_new_with_free_func(entry_free);
	return table;
}

void disk_table_free(DiskTable *table)
{
	if (!table)
		return;

	g_ptr_array_unref(table->entries);
	pthread_mutex_destroy(&table->mutex);
	g_free(table);
}

static DiskLimits limits_of(const Settings *settings)
{
	return (DiskLimits){ .bytes = settings->rate_bytes, .requests = settings->rate_requests };
}

static Entry *entry_new(const Disk *disk)
{
	Entry *entry = g_new0(Entry, 1);

	entry->major = disk->major;
	entry->minor = disk->minor;
	entry->budget = disk_budget_new(&(DiskLimits){ 0 });
	entry->watch = disk_watch_new(disk->stat_path, entry->budget);
	return entry;
}

/* With the mutex held. */
static const Entry *get_entry(DiskTable *table, const Disk *disk)
{
	Entry *made;

	for (size_t i = 0; i < table->entries->len; i++) {
		const Entry *entry = table->entries->pdata[i];

		if (entry->major == disk->major && entry->minor == disk->minor)
			return entry;
	}

	made = entry_new(disk);
	g_ptr_array_add(table->entries, made);
	return made;
}

static void add_disk(Throttle *throttle, const Settings *settings, const Entry *entry)
{
	const DiskLimits limits = limits_of(settings);
	bool is_watched = settings->makes_way;

	disk_budget_set_limits(entry->budget, &limits);
	if (!is_watched)
		disk_budget_set_pressure(entry->budget, &(DiskLimits){ 0 });
	throttle_add_disk(throttle, entry->budget, is_watched ? entry->watch : NULL);
}

static void add_disks(DiskTable *table, Throttle *throttle, const Settings *settings,
		      const GPtrArray *disks)
{
	pthread_mutex_lock(&table->mutex);
	for (size_t i = 0; i < disks->len; i++)
		add_disk(throttle, settings, get_entry(table, disks->pdata[i]));
	pthread_mutex_unlock(&table->mutex);
}

static void add_own(Throttle *throttle, const Settings *settings)
{
	const DiskLimits limits = limits_of(settings);
	g_autoptr(DiskBudget) budget = disk_budget_new(&limits);

	throttle_add_disk(throttle, budget, NULL);
}

Throttle *disk_table_throttle(DiskTable *table, const Settings *settings, int fd)
{
	Throttle *throttle = throttle_new(0, NULL);
	g_autoptr(GPtrArray) disks = NULL;
	FsLocation location;

	if (fs_location_read(fd, &location, NULL))
		disks = disk_topology_find(disk_topology_system(), &location);
	if (disks && disks->len > 0)
		add_disks(table, throttle, settings, disks);
	else
		add_own(throttle, settings);
	return throttle;
}
