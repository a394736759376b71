/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/waste-scope.h"

#include "common/text/path.h"

#include <string.h>

void waste_scope_clear(WasteScope *scope)
{
	g_clear_pointer(&scope->bases, g_ptr_array_unref);
}

static bool is_top(const MountedFilesystem *mounted, const char *directory)
{
	for (guint i = 0; mounted && i < mounted->mount_points->len; i++) {
		const MountPoint *mount = mounted->mount_points->pdata[i];

		if (mount->is_reachable && strcmp(mount->target, directory) == 0 &&
		    strcmp(mount->root, "/") == 0)
			return true;
	}

	return false;
}

void waste_scope_make(WasteScope *scope, const GArray *places, const char *uuid,
		      const MountTable *mounts)
{
	const MountedFilesystem *mounted = mount_table_find_uuid(mounts, uuid);

	scope->bases = g_ptr_array_new_with_free_func(g_free);
	scope->is_whole = places->len == 0;
	for (guint i = 0; i < places->len; i++) {
		const NamedPlace *place = &g_array_index(places, NamedPlace, i);

		if (g_ascii_strcasecmp(place->filesystem, uuid) != 0)
			continue;
		scope->is_whole |= !place->below || is_top(mounted, place->below);
		if (place->below)
			g_ptr_array_add(scope->bases, g_strdup(place->below));
	}
	for (guint i = 0; scope->is_whole && mounted && i < mounted->mount_points->len; i++) {
		const MountPoint *mount = mounted->mount_points->pdata[i];

		g_ptr_array_add(scope->bases, g_strdup(mount->target));
	}
}

bool waste_scope_has(const WasteScope *scope, const char *path)
{
	for (guint i = 0; !scope->is_whole && i < scope->bases->len; i++)
		if (path_lies_in(path, scope->bases->pdata[i]))
			return true;

	return scope->is_whole;
}
