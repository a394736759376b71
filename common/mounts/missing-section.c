/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/missing-section.h"

#include "common/mounts/device-names.h"

static bool is_mounted(const MountTable *mounts, const char *name)
{
	const MountedFilesystem *mounted = mounts ? mount_table_find_name(mounts, name) : NULL;
	g_auto(GStrv) ways = mounted ? mounted_filesystem_ways(mounted) : NULL;

	return ways && ways[0];
}

/* The service sees the links in /dev/disk, but not their targets. */
static bool is_disk(const char *name)
{
	g_autofree char *by_kernel = g_build_filename("/sys/class/block", name, NULL);
	g_autofree char *by_id = g_build_filename("/dev/disk/by-id", name, NULL);

	return g_file_test(by_kernel, G_FILE_TEST_EXISTS) ||
	       g_file_test(by_id, G_FILE_TEST_IS_SYMLINK);
}

static const char *what_is_missing(const MountTable *mounts, const ConfigEntry *entry)
{
	if (entry->section == CONFIG_DISK)
		return is_disk(entry->name) ? NULL : "names no disk of this machine";
	if (entry->section != CONFIG_FILESYSTEM || is_mounted(mounts, entry->name))
		return NULL;

	return *entry->name == '/' && !device_names_may_have(entry->name)
		       ? "names no mount point of a btrfs or XFS filesystem"
		       : "names no mounted btrfs or XFS filesystem";
}

char *missing_section_text(const MountTable *mounts, const ConfigEntry *entry)
{
	g_autofree char *section = config_entry_section(entry);
	const char *what = entry->key ? NULL : what_is_missing(mounts, entry);

	return what ? g_strdup_printf("%s:%u: %s %s", entry->file, entry->line, section, what)
		    : NULL;
}
