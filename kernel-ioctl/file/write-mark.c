/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/write-mark.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#define SECTOR_BYTES 512

/* Add the bytes written to the device whose directory in sysfs is @path. */
static bool add_written(const char *path, uint64_t *written_bytes)
{
	g_autofree char *file = g_build_filename(path, "stat", NULL);
	g_autofree char *text = NULL;
	uint64_t sectors;

	if (!g_file_get_contents(file, &text, NULL, NULL) ||
	    sscanf(text, "%*u %*u %*u %*u %*u %*u %" G_GUINT64_FORMAT, &sectors) != 1)
		return false;

	*written_bytes += sectors * SECTOR_BYTES;
	return true;
}

static bool read_btrfs(const char *sysfs, const FsIdentity *identity, WriteMark *ret)
{
	char uuid[FS_UUID_TEXT_BYTES];
	g_autofree char *devices_path = NULL;
	g_autofree char *generation_path = NULL;
	g_autofree char *generation = NULL;
	g_autoptr(GDir) devices = NULL;
	const char *name;
	size_t n_devices = 0;

	fs_uuid_format(identity->fsid, uuid);
	generation_path = g_build_filename(sysfs, "fs/btrfs", uuid, "generation", NULL);
	if (g_file_get_contents(generation_path, &generation, NULL, NULL))
		ret->generation = g_ascii_strtoull(generation, NULL, 10);

	devices_path = g_build_filename(sysfs, "fs/btrfs", uuid, "devices", NULL);
	devices = g_dir_open(devices_path, 0, NULL);
	while (devices && (name = g_dir_read_name(devices))) {
		g_autofree char *path = g_build_filename(devices_path, name, NULL);

		if (!add_written(path, &ret->written_bytes))
			return false;
		n_devices++;
	}

	return n_devices > 0;
}

bool write_mark_read(const char *sysfs, const FsIdentity *identity, dev_t device, WriteMark *ret)
{
	g_autofree char *number = g_strdup_printf("%u:%u", major(device), minor(device));
	g_autofree char *path = g_build_filename(sysfs, "dev/block", number, NULL);

	*ret = (WriteMark){ 0 };
	if (identity->kind == FS_KIND_BTRFS)
		return read_btrfs(sysfs, identity, ret);

	return add_written(path, &ret->written_bytes);
}
