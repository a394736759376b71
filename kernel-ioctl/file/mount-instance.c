/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/mount-instance.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The kernel's directory in sysfs for the filesystem, to be freed; NULL: not known. */
static char *find_directory(const char *sysfs, const FsIdentity *identity, dev_t device)
{
	g_autofree char *number = g_strdup_printf("%u:%u", major(device), minor(device));
	g_autofree char *link = g_build_filename(sysfs, "dev/block", number, NULL);
	g_autofree char *target = NULL;
	g_autofree char *name = NULL;
	char uuid[FS_UUID_TEXT_BYTES];

	if (identity->kind == FS_KIND_BTRFS) {
		fs_uuid_format(identity->fsid, uuid);
		return g_build_filename(sysfs, "fs/btrfs", uuid, NULL);
	}

	target = g_file_read_link(link, NULL);
	if (!target)
		return NULL;
	name = g_path_get_basename(target);
	return g_build_filename(sysfs, "fs/xfs", name, NULL);
}

/* The boot id without hyphens, to be freed; NULL: not known. */
static char *find_boot(const char *procfs, const char *given)
{
	g_autofree char *path = g_build_filename(procfs, "sys/kernel/random/boot_id", NULL);
	g_autofree char *boot = g_strdup(given);
	g_auto(GStrv) parts = NULL;

	if (!boot && !g_file_get_contents(path, &boot, NULL, NULL))
		return NULL;

	parts = g_strsplit(g_strstrip(boot), "-", -1);
	return g_strjoinv("", parts);
}

char *mount_instance_read(const char *sysfs, const char *procfs, const char *boot,
			  const FsIdentity *identity, dev_t device)
{
	g_autofree char *directory = find_directory(sysfs, identity, device);
	g_autofree char *this_boot = find_boot(procfs, boot);
	struct stat stat_of;

	if (!this_boot || !directory || stat(directory, &stat_of) != 0)
		return NULL;

	return g_strdup_printf("%s %" G_GUINT64_FORMAT, this_boot, (uint64_t)stat_of.st_ino);
}
