/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "common/files/extent-refs.h"
#include "common/files/filter.h"
#include "common/files/skip.h"
#include "daemon/context/filesystem.h"

#include <stdatomic.h>

/*
 * ExtentScope - which references to data extents of a btrfs filesystem are part of a pass, and the paths of their
 * files.
 *
 * A file is part of the pass if a walk from one of the pass's roots would come to it by one of its names: see
 * walk.h.  Roots and directories are compared by subvolume and inode, never by name.  So it makes no difference
 * which mounts show them, or whether any does.  Files that other mounts hide below a root are part of the pass,
 * too.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentScope ExtentScope;

/*
 * At most so many references to an extent are examined to find one in a limited pass: the others may lie in
 * snapshots outside it.
 */
#define EXTENT_SCOPE_MOST 1024

/*
 * All arguments are borrowed.  When @stop is raised, each function returns at once, and its result means nothing.
 */
ExtentScope *extent_scope_new(const Filesystem *filesystem, const Settings *settings,
			      Filter *filter, BtrfsRefBound *bound, const atomic_bool *stop);
void extent_scope_free(ExtentScope *scope);

/* False: every place of the filesystem is part of the pass. */
bool extent_scope_is_limited(const ExtentScope *scope);

/* Equal texts for the same limits; to be freed. */
char *extent_scope_limits(const ExtentScope *scope);

/*
 * Whether the reference is part of the pass; *ret_reason is why not.  Work is limited (LookupBudget): a file with
 * too many names, too deep, is not part of the pass.
 */
bool extent_scope_has(ExtentScope *scope, const ExtentRef *place, bool *ret, SkipReason *ret_reason,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Files that were asked for. */
uint64_t extent_scope_files(const ExtentScope *scope);

/*
 * The absolute path of the reference's file: below a root of the pass, else below the mount point.  If no mount
 * known here shows it, the path begins at the top level, "<FS_TREE>".  A long one is cut: see ShortPath.  NULL if
 * the file has no path, or none can be found.  To be freed.
 */
char *extent_scope_path(ExtentScope *scope, const ExtentRef *place);

/* The same for the topmost directory of a subvolume. */
char *extent_scope_subvolume_path(ExtentScope *scope, uint64_t subvolume);

/*
 * The same for a file that refers to the extent.  It searches for references, so it must not be called while the
 * pass deduplicates.
 */
char *extent_scope_example(ExtentScope *scope, const Object *extent);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentScope, extent_scope_free)
