/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/disk-table.h"

#include "common/threads/locked.h"
#include "kernel-ioctl/machine/disk-topology.h"

#include <stdatomic.h>
#include <string.h>

typedef struct Entry {
	/* Set at creation, never changed. */
	unsigned major;
	unsigned minor;
	char **names; /* the kernel's name first, then those in /dev/disk/by-id */
	bool kernel_says_rotating;
	DiskBudget *budget;
	DiskWatch *watch;

	_Atomic(struct Entry *) next;

	/* Guarded by the mutex of the table. */
	DiskSettings settings;
	bool has_set_limits;
	DiskLimits set_limits;
} Entry;

struct DiskTable {
	/* Entries are added at the end, and never removed: all threads walk over them without a lock. */
	_Atomic(Entry *) first;

	/* Taken to add an entry or to change rules, not to read them. */
	pthread_mutex_t mutex;

	/* Guarded by mutex. */
	_Atomic(Entry *) *end;
	const Config *config; /* NULL: none yet */
	PressurePolicy pressure;
	RotatingPolicy rotating;
	bool is_service;
};

static void entry_free(Entry *entry)
{
	disk_watch_free(entry->watch);
	disk_budget_unref(entry->budget);
	g_strfreev(entry->names);
	g_free(entry);
}

DiskTable *disk_table_new(void)
{
	DiskTable *table = g_new0(DiskTable, 1);

	pthread_mutex_init(&table->mutex, NULL);
	table->end = &table->first;
	return table;
}

void disk_table_free(DiskTable *table)
{
	Entry *next;

	if (!table)
		return;

	for (Entry *entry = atomic_load(&table->first); entry; entry = next) {
		next = atomic_load(&entry->next);
		entry_free(entry);
	}
	pthread_mutex_destroy(&table->mutex);
	g_free(table);
}

static char **names_of(const Disk *disk)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();

	g_strv_builder_add(names, disk->name);
	g_strv_builder_addv(names, (const char **)disk->ids);
	return g_strv_builder_end(names);
}

static Entry *entry_new(const Disk *disk)
{
	Entry *entry = g_new0(Entry, 1);

	entry->major = disk->major;
	entry->minor = disk->minor;
	entry->names = names_of(disk);
	entry->kernel_says_rotating = disk->is_rotating;
	entry->budget = disk_budget_new(&(DiskRules){ 0 });
	entry->watch = disk_watch_new(disk->stat_path, entry->budget);
	return entry;
}

static DiskLimits limits_of(const Entry *entry)
{
	if (entry->has_set_limits)
		return entry->set_limits;

	return (DiskLimits){
		.bytes = entry->settings.read_rate_bytes,
		.requests = entry->settings.read_iops,
	};
}

static bool makes_way(const DiskTable *table, const Entry *entry)
{
	PressurePolicy policy = table->pressure ? table->pressure : entry->settings.pressure;

	return policy == PRESSURE_AUTO ? table->is_service : policy == PRESSURE_ON;
}

static bool is_rotating(const DiskTable *table, const Entry *entry)
{
	RotatingPolicy policy = table->rotating ? table->rotating : entry->settings.rotating;

	return policy == ROTATING_AUTO ? entry->kernel_says_rotating : policy == ROTATING_YES;
}

static void apply(const DiskTable *table, const Entry *entry)
{
	const DiskRules rules = {
		.limits = limits_of(entry),
		.is_set = entry->has_set_limits,
		.makes_way = makes_way(table, entry),
		.is_rotating = is_rotating(table, entry),
	};

	disk_budget_set_rules(entry->budget, &rules);
}

static void configure(const DiskTable *table, Entry *entry)
{
	if (table->config)
		config_disk_settings(table->config, (const char *const *)entry->names,
				     &entry->settings);
	apply(table, entry);
}

void disk_table_configure(DiskTable *table, const Config *config, const Settings *settings)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&table->mutex);

	table->config = config;
	table->pressure = settings->pressure;
	table->rotating = settings->rotating;
	table->is_service = !settings->once;
	for (Entry *entry = atomic_load(&table->first); entry; entry = atomic_load(&entry->next))
		configure(table, entry);
}

static const Entry *find_entry(const DiskTable *table, const Disk *disk)
{
	const Entry *entry = atomic_load(&table->first);

	/* The kernel may give a number to another disk. */
	while (entry && (entry->major != disk->major || entry->minor != disk->minor ||
			 strcmp(entry->names[0], disk->name) != 0))
		entry = atomic_load(&entry->next);
	return entry;
}

static const Entry *add_entry(DiskTable *table, const Disk *disk)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&table->mutex);
	/* Another thread may have added it just before. */
	const Entry *known = find_entry(table, disk);
	Entry *entry;

	if (known)
		return known;

	entry = entry_new(disk);
	configure(table, entry);
	atomic_store(table->end, entry);
	table->end = &entry->next;
	return entry;
}

static const Entry *get_entry(DiskTable *table, const Disk *disk)
{
	const Entry *entry = find_entry(table, disk);

	return entry ? entry : add_entry(table, disk);
}

void disk_table_add(DiskTable *table, const GPtrArray *disks)
{
	for (size_t i = 0; i < disks->len; i++)
		get_entry(table, disks->pdata[i]);
}

static void view_free(void *data)
{
	DiskView *view = data;

	g_free(view->name);
	g_free(view);
}

static DiskView *view_of(const Entry *entry)
{
	DiskView *view = g_new0(DiskView, 1);

	*view = (DiskView){
		.name = g_strdup(entry->names[0]),
		.rules = disk_budget_rules(entry->budget),
		.charged_bytes = disk_budget_charged_bytes(entry->budget),
	};
	return view;
}

GPtrArray *disk_table_views(const DiskTable *table)
{
	GPtrArray *views = g_ptr_array_new_with_free_func(view_free);

	for (const Entry *entry = atomic_load(&table->first); entry;
	     entry = atomic_load(&entry->next))
		g_ptr_array_add(views, view_of(entry));
	return views;
}

bool disk_table_set_limits(DiskTable *table, const char *name, const DiskLimits *limits)
{
	g_autofree char *known = config_name_of_disk(name);
	bool found = false;
	g_auto(Locked) locked G_GNUC_UNUSED = NULL;

	if (!known)
		return false;

	locked = locked_take(&table->mutex);
	for (Entry *entry = atomic_load(&table->first); entry; entry = atomic_load(&entry->next)) {
		if (!g_strv_contains((const char *const *)entry->names, known))
			continue;
		entry->has_set_limits = true;
		entry->set_limits = *limits;
		apply(table, entry);
		found = true;
	}
	return found;
}

bool disk_table_is_rotating(DiskTable *table, const Disk *disk)
{
	return disk_budget_rules(get_entry(table, disk)->budget).is_rotating;
}

static void add_disks(DiskTable *table, Throttle *throttle, const GPtrArray *disks)
{
	for (size_t i = 0; i < disks->len; i++) {
		const Entry *entry = get_entry(table, disks->pdata[i]);

		throttle_add_disk(throttle, entry->budget, entry->watch);
	}
}

/* Add the limits of the pass itself as a disk of its own. */
static void add_own(Throttle *throttle, const Settings *settings)
{
	const DiskRules rules = { .limits = { settings->rate_bytes, settings->rate_requests } };
	g_autoptr(DiskBudget) budget = disk_budget_new(&rules);

	throttle_add_disk(throttle, budget, NULL);
}

Throttle *disk_table_throttle(DiskTable *table, const Settings *settings, int fd)
{
	Throttle *throttle = throttle_new(0, NULL);
	g_autoptr(GPtrArray) disks = NULL;
	FsLocation location;

	if (settings->rate_bytes > 0 || settings->rate_requests > 0)
		add_own(throttle, settings);
	if (fs_location_read(fd, &location, NULL))
		disks = disk_topology_find(disk_topology_system(), &location);
	if (disks)
		add_disks(table, throttle, disks);
	return throttle;
}

void disk_table_add_store(DiskTable *table, Throttle *throttle, const char *path)
{
	g_autoptr(GPtrArray) disks = NULL;
	FsLocation location;

	if (!fs_location_of_path(path, &location))
		return;

	disks = disk_topology_find(disk_topology_system(), &location);
	for (size_t i = 0; i < disks->len; i++) {
		const Entry *entry = get_entry(table, disks->pdata[i]);

		throttle_add_store_disk(throttle, entry->budget, entry->watch);
	}
}
