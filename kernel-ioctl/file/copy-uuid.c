/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/copy-uuid.h"

#include "kernel-ioctl/call/sysfs-attribute.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <xxhash.h>

/* Attributes that identify a whole device whatever its number; the first one in its directory in sysfs counts. */
static const char *const lasting[] = {
	"dm/uuid", "loop/backing_file", "md/uuid", "wwid", "device/wwid", "serial",
};

/* The attribute and its value.  Several loop devices may have one file.  For want of all, the kernel's name. */
static char *whole_name(const char *directory)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lasting); i++) {
		g_autofree char *name = sysfs_attribute(directory, lasting[i]);
		g_autofree char *offset = sysfs_attribute(directory, "loop/offset");

		if (name)
			return g_strdup_printf("%s\n%s\n%s", lasting[i], name,
					       offset ? offset : "");
	}
	return g_path_get_basename(directory);
}

/* Make the UUID of that in the superblock and the device whose directory in sysfs @link leads to. */
static void make(const uint8_t superblock_uuid[FS_UUID_BYTES], const char *link,
		 uint8_t ret[FS_UUID_BYTES])
{
	char uuid[FS_UUID_TEXT_BYTES];

	char *real = realpath(link, NULL);
	g_autofree char *directory = g_strdup(real ? real : link);
	g_autofree char *partition = sysfs_attribute(directory, "partition");
	g_autofree char *above = g_path_get_dirname(directory);
	g_autofree char *whole = whole_name(partition ? above : directory);
	XXH128_canonical_t hash;

	free(real);
	fs_uuid_format(superblock_uuid, uuid);
	g_autofree char *all =
		g_strdup_printf("%s\n%s\n%s", uuid, whole, partition ? partition : "");
	XXH128_canonicalFromHash(&hash, XXH3_128bits(all, strlen(all)));
	memcpy(ret, hash.digest, FS_UUID_BYTES);
	/* Version 8, of one's own making: RFC 9562. */
	ret[6] = (uint8_t)(0x80 | (ret[6] & 0x0f));
	ret[8] = (uint8_t)(0x80 | (ret[8] & 0x3f));
}

bool copy_uuid_of_xfs(const char *sysfs, const char *options, dev_t device,
		      const uint8_t superblock_uuid[FS_UUID_BYTES], uint8_t ret[FS_UUID_BYTES])
{
	g_auto(GStrv) parts = g_strsplit(options, ",", -1);
	g_autofree char *link =
		g_strdup_printf("%s/dev/block/%u:%u", sysfs, major(device), minor(device));

	if (!g_strv_contains((const char *const *)parts, "nouuid"))
		return false;

	make(superblock_uuid, link, ret);
	return true;
}

/* The only device: no filesystem of several is mounted as a copy. */
static char *device_of_btrfs(const char *directory)
{
	g_autofree char *path = g_build_filename(directory, "devices", NULL);
	g_autoptr(GDir) devices = g_dir_open(path, 0, NULL);
	const char *name = devices ? g_dir_read_name(devices) : NULL;

	return g_build_filename(path, name, NULL);
}

bool copy_uuid_of_btrfs(const char *sysfs, const uint8_t fsid[FS_UUID_BYTES],
			const uint8_t superblock_uuid[FS_UUID_BYTES], uint8_t ret[FS_UUID_BYTES])
{
	char uuid[FS_UUID_TEXT_BYTES];

	/* Others than copies have two UUIDs, too: those of "btrfstune -m". */
	if (fs_uuid_equal(fsid, superblock_uuid))
		return false;

	fs_uuid_format(fsid, uuid);
	g_autofree char *directory = g_build_filename(sysfs, "fs/btrfs", uuid, NULL);
	g_autofree char *is_temporary = sysfs_attribute(directory, "temp_fsid");
	if (g_strcmp0(is_temporary, "1") != 0)
		return false;

	g_autofree char *device = device_of_btrfs(directory);
	make(superblock_uuid, device, ret);
	return true;
}
