/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-place.h"
#include "common/mounts/mount-table.h"

/*
 * WasteScope - which files of one filesystem are counted, and what the levels of their directories are
 * counted from.
 *
 * Thread: main.
 */
typedef struct {
	GPtrArray *bases; /* directories, absolute */
	bool is_whole;    /* files that lie in none of them are counted, too */
} WasteScope;

/*
 * Of the filesystem @uuid, with what of @places (NamedPlace) lies on it: all of it where the filesystem
 * itself is named, or a mount of its top, or nothing is.
 */
void waste_scope_make(WasteScope *scope, const GArray *places, const char *uuid,
		      const MountTable *mounts);
void waste_scope_clear(WasteScope *scope);

bool waste_scope_has(const WasteScope *scope, const char *path);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(WasteScope, waste_scope_clear)
