/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/named-filesystems.h"

#include "daemon/device-names.h"
#include "daemon/mount-table.h"

static bool is_section_of_filesystem(const ConfigEntry *entry)
{
	return entry->section == CONFIG_FILESYSTEM && !entry->key;
}

char **named_filesystem_names(const Filesystem *filesystem)
{
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, NULL);
	const MountedFilesystem *mounted =
		mounts ? mount_table_find_uuid(mounts, filesystem->uuid) : NULL;
	const char *uuid_alone[] = { filesystem->uuid, NULL };

	return mounted ? mounted_filesystem_names(mounted) : g_strdupv((char **)uuid_alone);
}

static void warn(GPtrArray *warnings, const ConfigEntry *entry, const char *what)
{
	g_autofree char *section = config_entry_section(entry);

	g_ptr_array_add(warnings, g_strdup_printf("%s:%u: %s %s%s%s", entry->file, entry->line,
						  section, entry->key ? entry->key->name : "",
						  entry->key ? "=: " : "", what));
}

/* Add the mounts which together show all of the filesystem that goes by @name; false: none does. */
static bool add_ways(const MountTable *mounts, const char *name, GPtrArray *paths)
{
	const MountedFilesystem *mounted = mount_table_find_name(mounts, name);
	g_auto(GStrv) ways = mounted ? mounted_filesystem_ways(mounted) : NULL;

	for (size_t i = 0; ways && ways[i]; i++)
		g_ptr_array_add(paths, g_strdup(ways[i]));
	return ways && ways[0];
}

char **named_filesystem_paths(const Config *config, GPtrArray *warnings)
{
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, NULL);
	const GPtrArray *entries = config_entries(config);
	g_autoptr(GPtrArray) paths = g_ptr_array_new();

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];

		if (is_section_of_filesystem(entry) &&
		    (!mounts || !add_ways(mounts, entry->name, paths)))
			warn(warnings, entry,
			     *entry->name == '/' && !device_names_may_have(entry->name)
				     ? "names no mount point of a btrfs or XFS"
				     : "names no btrfs or XFS that is mounted");
	}
	g_ptr_array_add(paths, NULL);

	return (char **)g_ptr_array_steal(paths, NULL);
}

char **named_filesystem_replace(char *const *paths)
{
	g_autoptr(GPtrArray) replaced = g_ptr_array_new();
	g_autoptr(MountTable) mounts = NULL;

	for (; *paths; paths++) {
		const MountedFilesystem *mounted = NULL;

		if (device_names_may_have(*paths)) {
			if (!mounts)
				mounts = mount_table_read(NULL, NULL, NULL, NULL);
			mounted = mounts ? mount_table_find_device(mounts, *paths) : NULL;
		}
		g_auto(GStrv) ways = mounted ? mounted_filesystem_ways(mounted) : NULL;
		for (size_t i = 0; ways && ways[i]; i++)
			g_ptr_array_add(replaced, g_strdup(ways[i]));
		if (!ways || !ways[0])
			g_ptr_array_add(replaced, g_strdup(*paths));
	}
	g_ptr_array_add(replaced, NULL);

	return (char **)g_ptr_array_steal(replaced, NULL);
}

/* The service sees the links in /dev/disk, but not the devices that they lead to. */
static bool is_disk(const char *name)
{
	g_autofree char *by_kernel = g_build_filename("/sys/class/block", name, NULL);
	g_autofree char *by_id = g_build_filename("/dev/disk/by-id", name, NULL);

	return g_file_test(by_kernel, G_FILE_TEST_EXISTS) ||
	       g_file_test(by_id, G_FILE_TEST_IS_SYMLINK);
}

void named_disks_check(const Config *config, GPtrArray *warnings)
{
	const GPtrArray *entries = config_entries(config);

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];

		if (entry->section == CONFIG_DISK && !entry->key && !is_disk(entry->name))
			warn(warnings, entry, "names no disk of this machine");
	}
}
