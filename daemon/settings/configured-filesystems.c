/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings/configured-filesystems.h"

#include "common/mounts/device-names.h"
#include "common/mounts/missing-section.h"
#include "common/mounts/mount-table.h"

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

	return mounted ? mounted_filesystem_names(mounted, NULL) : g_strdupv((char **)uuid_alone);
}

/* The mounts that together show all of the filesystem with the name @name; NULL: none. */
static char **ways_to(const MountTable *mounts, const char *name)
{
	const MountedFilesystem *mounted = mounts ? mount_table_find_name(mounts, name) : NULL;
	g_auto(GStrv) ways = mounted ? mounted_filesystem_ways(mounted) : NULL;

	return ways && ways[0] ? g_steal_pointer(&ways) : NULL;
}

char **named_filesystem_paths(const Config *config, GPtrArray *warnings)
{
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, NULL);
	const GPtrArray *entries = config_entries(config);
	g_autoptr(GPtrArray) paths = g_ptr_array_new();

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];
		g_autofree char *missing = is_section_of_filesystem(entry)
						   ? missing_section_text(mounts, entry)
						   : NULL;
		g_auto(GStrv) ways =
			is_section_of_filesystem(entry) ? ways_to(mounts, entry->name) : NULL;

		for (char **way = ways; way && *way; way++)
			g_ptr_array_add(paths, g_strdup(*way));
		if (missing)
			g_ptr_array_add(warnings, g_steal_pointer(&missing));
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

void named_disks_check(const Config *config, GPtrArray *warnings)
{
	const GPtrArray *entries = config_entries(config);

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];
		char *missing =
			entry->section == CONFIG_DISK ? missing_section_text(NULL, entry) : NULL;

		if (missing)
			g_ptr_array_add(warnings, missing);
	}
}
