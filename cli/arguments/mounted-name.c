/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/mounted-name.h"

#include "cli/arguments/mounts-with-timeout.h"
#include "cli/terminal/message.h"
#include "common/config/config.h"
#include "common/mounts/device-names.h"
#include "common/text/path.h"
#include "common/text/word-list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

/* The number of mount points that a message lists if none is similar. */
#define NAMES_SHOWN 8

const MountedFilesystem *mounted_name_find(const MountTable *mounts, const char *typed)
{
	g_autofree char *name = config_name_of_filesystem(typed);
	g_autofree char *real = realpath(typed, NULL);
	const MountedFilesystem *found = NULL;

	if (name && *name != '/')
		return mount_table_find_uuid(mounts, name);
	if (name)
		found = mount_table_find_target(mounts, name);

	return found || !real ? found : mount_table_find_target(mounts, real);
}

static char *replacement(const MountedFilesystem *mounted, bool is_path)
{
	g_auto(GStrv) ways = is_path ? mounted_filesystem_ways(mounted) : NULL;

	return g_strdup(ways && ways[0] ? ways[0] : mounted->uuid);
}

void mounted_names_replace(char **names, bool are_paths)
{
	g_autoptr(MountTable) mounts = NULL;

	for (; names && *names; names++) {
		const MountedFilesystem *mounted;

		if (!device_names_may_have(*names))
			continue;
		if (!mounts)
			mounts = mounts_with_timeout_read(NULL);
		mounted = mounts ? mount_table_find_device(mounts, *names) : NULL;
		if (!mounted || mounted->uuid[0] == '\0')
			continue;
		g_free(*names);
		*names = replacement(mounted, are_paths);
	}
}

/* The targets of all reachable mounts, owned by the table. */
static GPtrArray *targets_of(const MountTable *mounts)
{
	const GPtrArray *all = mount_table_filesystems(mounts);
	GPtrArray *targets = g_ptr_array_new();

	for (size_t i = 0; i < all->len; i++) {
		const MountedFilesystem *filesystem = all->pdata[i];

		for (size_t j = 0; j < filesystem->mount_points->len; j++) {
			const MountPoint *mount_point = filesystem->mount_points->pdata[j];

			if (mount_point->is_reachable)
				g_ptr_array_add(targets, mount_point->target);
		}
	}

	return targets;
}

/*
 * The mount point of the btrfs or XFS filesystem of @path, owned by the table; NULL: it lies on another kind.
 */
static const char *mount_point_above(const GPtrArray *targets, const char *path)
{
	g_autofree char *real = realpath(path, NULL);
	const char *above = NULL;
	struct statfs its, of_path;

	for (size_t i = 0; real && i < targets->len; i++) {
		const char *target = targets->pdata[i];

		if (path_lies_in(real, target) && (!above || strlen(target) > strlen(above)))
			above = target;
	}
	/* Another kind may be mounted in between. */
	if (!above || statfs(above, &its) != 0 || statfs(real, &of_path) != 0 ||
	    its.f_type != of_path.f_type)
		return NULL;

	return above;
}

/* The kind of the filesystem of @path, if dedupd does not support it; NULL: there is no such path. */
static char *other_kind_of(const char *path)
{
	g_autofree char *real = realpath(path, NULL);
	g_autofree char *kind = real ? mounted_kind_of(real) : NULL;

	return g_strcmp0(kind, "btrfs") == 0 || g_strcmp0(kind, "xfs") == 0
		       ? NULL
		       : g_steal_pointer(&kind);
}

static char *list_of(const GPtrArray *targets)
{
	g_autofree char *list = message_join((const char *const *)targets->pdata,
					     MIN(targets->len, NAMES_SHOWN), ", ");

	return g_strconcat(list, targets->len > NAMES_SHOWN ? " and others" : NULL, NULL);
}

char *mounted_name_meant(const MountTable *mounts, const char *typed)
{
	g_autoptr(GPtrArray) targets = targets_of(mounts);
	const char *above = mount_point_above(targets, typed);

	return g_strdup(
		above ? above
		      : nearest_word(typed, (const char *const *)targets->pdata, targets->len));
}

char *mounted_name_refusal(const MountTable *mounts, const char *typed)
{
	g_autoptr(GPtrArray) targets = targets_of(mounts);
	g_autofree char *shown = message_text(typed);
	const char *above = mount_point_above(targets, typed);
	const char *near = nearest_word(typed, (const char *const *)targets->pdata, targets->len);
	g_autofree char *meant = message_text(above ? above : near);
	g_autofree char *list = list_of(targets);
	g_autofree char *kind = other_kind_of(typed);

	if (strpbrk(typed, "*?["))
		return g_strdup_printf(
			"%s is not a mount point: name each filesystem by itself, without patterns",
			shown);
	if (above)
		return g_strdup_printf(
			"%s is not a mount point: it lies on the filesystem mounted on %s", shown,
			meant);
	if (kind)
		return g_strdup_printf("%s is %s; dedupd supports btrfs and XFS", shown, kind);
	if (near)
		return g_strdup_printf(
			"%s is not a mounted btrfs or XFS filesystem: did you mean %s?", shown,
			meant);
	if (targets->len == 0)
		return g_strdup_printf(
			"%s is not a mounted btrfs or XFS filesystem: none is mounted", shown);

	return g_strdup_printf("%s is not a mounted btrfs or XFS filesystem: these are mounted: %s",
			       shown, list);
}
