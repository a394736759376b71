/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/disk-limits.h"

#include "cli/terminal/bytes-text.h"
#include "cli/terminal/message.h"

#include <string.h>

TABLE_COLUMNS(columns, DISK_COLUMNS);

static const TableKind table_of_disks = { "disks", columns, G_N_ELEMENTS(columns), NULL, 0 };

static GPtrArray *new_array(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)daemon_disk_free);
}

const DaemonDisk *disk_limits_find(const GPtrArray *all, const char *name)
{
	for (guint i = 0; all && i < all->len; i++) {
		const DaemonDisk *disk = all->pdata[i];

		if (strcmp(disk->name, name) == 0)
			return disk;
	}

	return NULL;
}

/* A copy of the service's entry for it; NULL: none. */
static DaemonDisk *known_disk(const GPtrArray *known, const char *name)
{
	DaemonDisk *copy = g_memdup2(disk_limits_find(known, name), sizeof(*copy));

	if (copy)
		copy->name = g_strdup(name);
	return copy;
}

static DaemonDisk *new_disk(const char *name)
{
	DaemonDisk *disk = g_new0(DaemonDisk, 1);

	disk->name = g_strdup(name);
	return disk;
}

GPtrArray *disk_limits_named(const GPtrArray *known, char *const *names)
{
	GPtrArray *disks = new_array();

	for (; *names; names++) {
		DaemonDisk *disk = known_disk(known, *names);

		g_ptr_array_add(disks, disk ? disk : new_disk(*names));
	}

	return disks;
}

/* The configuration of @disk, by any of its names. */
static DaemonDisk *configured_disk(const Config *config, const Disk *disk)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	DaemonDisk *limits = new_disk(disk->name);
	DiskSettings settings = { 0 };

	g_strv_builder_add(names, disk->name);
	g_strv_builder_addv(names, (const char **)disk->ids);
	g_auto(GStrv) all = g_strv_builder_end(names);
	if (config)
		config_disk_settings(config, (const char *const *)all, &settings);
	limits->rate_bytes = settings.read_rate_bytes;
	limits->rate_requests = settings.read_iops;
	limits->makes_way = settings.pressure != PRESSURE_OFF;
	limits->is_rotating = settings.rotating == ROTATING_YES ||
			      (settings.rotating == ROTATING_AUTO && disk->is_rotating);
	return limits;
}

GPtrArray *disk_limits_below(const GPtrArray *known, const Config *config,
			     const DiskTopology *topology, const MountedFilesystem *mounted)
{
	FsLocation location = {
		.is_btrfs = mounted->identity.kind == FS_KIND_BTRFS,
		.major = mounted->major,
		.minor = mounted->minor,
	};
	g_autoptr(GPtrArray) below = NULL;
	GPtrArray *disks = new_array();

	memcpy(location.fsid, mounted->identity.fsid, sizeof(location.fsid));
	below = disk_topology_find(topology, &location);
	for (guint i = 0; i < below->len; i++) {
		const Disk *disk = below->pdata[i];
		DaemonDisk *limits = known_disk(known, disk->name);

		g_ptr_array_add(disks, limits ? limits : configured_disk(config, disk));
	}

	return disks;
}

char *disk_limits_text(const GPtrArray *disks, bool in_bytes)
{
	GString *text = g_string_new(disks->len == 0 ? "-" : NULL);

	for (guint i = 0; i < disks->len; i++) {
		const DaemonDisk *disk = disks->pdata[i];
		g_autofree char *name = message_text(disk->name);
		g_autofree char *rate = bytes_text_with_unit(disk->rate_bytes, in_bytes);

		g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", name);
		if (disk->rate_bytes > 0)
			g_string_append_printf(text, " %s/s", rate);
		if (disk->rate_requests > 0)
			g_string_append_printf(text, " %" G_GUINT64_FORMAT "/s",
					       disk->rate_requests);
	}

	return g_string_free(text, FALSE);
}

void disk_limits_add_row(Table *table, const DaemonDisk *disk)
{
	table_add_row(table);
	table_set_escaped(table, DISK_NAME, disk->name);
	if (disk->rate_bytes > 0)
		table_set_size(table, DISK_RATE, disk->rate_bytes);
	if (disk->rate_requests > 0)
		table_set_count(table, DISK_IOPS, disk->rate_requests);
	table_set_text(table, DISK_FROM, disk->is_set ? "set" : "configuration");
	table_set_text(table, DISK_PRESSURE, disk->makes_way ? "on" : "off");
}

Table *disk_limits_table(const GPtrArray *disks, const Options *options)
{
	Table *table = table_new(&table_of_disks, options);

	for (guint i = 0; i < disks->len; i++)
		disk_limits_add_row(table, disks->pdata[i]);
	return table;
}
