/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-place.h"
#include "common/mounts/mount-table.h"

/*
 * WasteScope - which files of one filesystem count, and the base directories for the levels of their
 * directories.
 *
 * Thread: main.
 */
typedef struct {
	GPtrArray *bases; /* directories, absolute */
	bool is_whole;    /* files outside of them count, too */
} WasteScope;

/*
 * Make the scope of the filesystem @uuid from those of @places (NamedPlace) that lie on it.  The scope is the
 * whole filesystem if @places name the filesystem itself or a mount of its top, or are empty.
 */
void waste_scope_make(WasteScope *scope, const GArray *places, const char *uuid,
		      const MountTable *mounts);
void waste_scope_clear(WasteScope *scope);

bool waste_scope_has(const WasteScope *scope, const char *path);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(WasteScope, waste_scope_clear)
