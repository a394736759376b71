/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/disk.h"

#include "kernel-ioctl/call/sysfs-attribute.h"

#include <stdio.h>
#include <string.h>

#define BY_ID "by-id"

static bool is_set(const char *directory, const char *name)
{
	g_autofree char *value = sysfs_attribute(directory, name);

	return g_strcmp0(value, "1") == 0;
}

/* True if a component of the path is a root hub, such as "usb1". */
static bool is_on_usb(const char *directory)
{
	g_auto(GStrv) parts = g_strsplit(directory, "/", -1);

	for (char **part = parts; *part; part++)
		if (g_str_has_prefix(*part, "usb") && g_ascii_isdigit((*part)[3]))
			return true;

	return false;
}

/* By name: virtio_blk and other drivers report all their disks as rotating. */
static bool is_virtual(const char *name)
{
	static const char *const beginnings[] = { "vd", "xvd", "nbd", "rbd", "zram", "ubi" };

	for (size_t i = 0; i < G_N_ELEMENTS(beginnings); i++)
		if (g_str_has_prefix(name, beginnings[i]))
			return true;
	return false;
}

Disk *disk_read(const char *directory, DeviceLinks *links)
{
	g_autofree char *numbers = sysfs_attribute(directory, "dev");
	g_autoptr(Disk) disk = g_new0(Disk, 1);

	if (!numbers || sscanf(numbers, "%u:%u", &disk->major, &disk->minor) != 2)
		return NULL;

	disk->name = g_path_get_basename(directory);
	disk->ids = g_strdupv((char **)device_links_to(links, BY_ID, disk->name));
	disk->is_virtual = is_virtual(disk->name);
	disk->is_rotating = !disk->is_virtual && is_set(directory, "queue/rotational");
	disk->is_removable = is_set(directory, "removable") || is_on_usb(directory);
	disk->stat_path = g_build_filename(directory, "stat", NULL);
	return g_steal_pointer(&disk);
}

Disk *disk_copy(const Disk *disk)
{
	Disk *copy = g_memdup2(disk, sizeof(*disk));

	copy->name = g_strdup(disk->name);
	copy->ids = g_strdupv(disk->ids);
	copy->stat_path = g_strdup(disk->stat_path);
	return copy;
}

void disk_free(Disk *disk)
{
	if (!disk)
		return;

	g_free(disk->name);
	g_strfreev(disk->ids);
	g_free(disk->stat_path);
	g_free(disk);
}
