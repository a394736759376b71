/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/device-health.h"

#include "kernel-ioctl/call/sysfs-attribute.h"

#include <string.h>

static uint64_t number_in(const char *directory, const char *name)
{
	g_autofree char *text = sysfs_attribute(directory, name);

	return text ? g_ascii_strtoull(text, NULL, 10) : 0;
}

/* The kernel's names for work on an md array, and ours. */
static const struct {
	const char *action;
	const char *name;
} actions[] = {
	{ "resync", "a resync" }, { "recover", "a recovery" },  { "check", "a check" },
	{ "repair", "a repair" }, { "reshape", "a reshaping" },
};

static void look_at_array(const char *directory, DeviceHealth *health)
{
	g_autofree char *name = g_path_get_basename(directory);
	g_autofree char *action = sysfs_attribute(directory, "md/sync_action");
	uint64_t lacks = number_in(directory, "md/degraded");

	if (lacks > 0 && !health->lack)
		health->lack = g_strdup_printf("%s lacks %" G_GUINT64_FORMAT " of its devices",
					       name, lacks);

	for (size_t i = 0; action && !health->array_work && i < G_N_ELEMENTS(actions); i++)
		if (strcmp(action, actions[i].action) == 0)
			health->array_work = g_strdup_printf("%s of %s", actions[i].name, name);
}

/* The sum of the errors that the device itself reported. */
static uint64_t errors_of(const char *directory)
{
	static const char *const counted[] = { "write_errs", "read_errs", "flush_errs", NULL };
	g_autofree char *path = g_build_filename(directory, "error_stats", NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	uint64_t errors = 0;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;

	lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		char *number = strchr(*line, ' ');

		if (!number)
			continue;
		*number++ = '\0';
		if (g_strv_contains(counted, *line))
			errors += g_ascii_strtoull(number, NULL, 10);
	}

	return errors;
}

static void look_at_btrfs_devices(const char *btrfs, DeviceHealth *health)
{
	g_autofree char *path = g_build_filename(btrfs, "devinfo", NULL);
	g_autoptr(GDir) devices = g_dir_open(path, 0, NULL);
	const char *id;

	while (devices && (id = g_dir_read_name(devices))) {
		g_autofree char *directory = g_build_filename(path, id, NULL);

		if (number_in(directory, "missing") > 0 && !health->lack)
			health->lack = g_strdup_printf("device %s of the btrfs is missing", id);
		health->errors += errors_of(directory);
	}
}

/* A paused operation moves no data. */
static void look_at_btrfs(const DiskTopology *topology, const FsLocation *location,
			  DeviceHealth *health)
{
	char uuid[FS_UUID_TEXT_BYTES];
	g_autofree char *btrfs = NULL;
	g_autofree char *operation = NULL;

	fs_uuid_format(location->fsid, uuid);
	btrfs = g_build_filename(topology->sysfs, "fs/btrfs", uuid, NULL);
	look_at_btrfs_devices(btrfs, health);
	operation = sysfs_attribute(btrfs, "exclusive_operation");
	if (operation && strcmp(operation, "none") != 0 && !strstr(operation, "paused"))
		health->btrfs_work = g_strdup_printf("a %s of the btrfs", operation);
}

void device_health_read(const DiskTopology *topology, const FsLocation *location, DeviceHealth *ret)
{
	g_autoptr(GPtrArray) arrays = disk_topology_find_arrays(topology, location);

	*ret = (DeviceHealth){ 0 };
	for (size_t i = 0; i < arrays->len; i++)
		look_at_array(arrays->pdata[i], ret);
	if (location->is_btrfs)
		look_at_btrfs(topology, location, ret);
}

void device_health_clear(DeviceHealth *health)
{
	g_clear_pointer(&health->lack, g_free);
	g_clear_pointer(&health->array_work, g_free);
	g_clear_pointer(&health->btrfs_work, g_free);
}
