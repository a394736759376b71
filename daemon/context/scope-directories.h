/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/filter.h"
#include "common/files/skip.h"
#include "daemon/context/filesystem.h"
#include "daemon/context/lookup-budget.h"
#include "kernel-ioctl/call/file-key.h"

#include <stdatomic.h>

/*
 * ScopeDirectories - which directories of a btrfs filesystem lie below the roots of a pass, and whether a walk
 * from there would enter them.
 *
 * Each directory is judged once and remembered, with the directories above it: a directory has one name only.
 * Hard links are names of files, so a file with many names costs one look-up of a directory for each of them.
 *
 * Roots and directories are compared by subvolume and inode, never by name.  No glob is tried on a path of more
 * than FILTER_PATH_BYTES_MAX: its file counts as too deep.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ScopeDirectories ScopeDirectories;

/* A root that a directory lies below, or is. */
typedef struct {
	const FilesystemRoot *root;
	bool is_left_alone;
	SkipReason reason;   /* if so: why a walk from there would skip the directory */
	uint32_t path_bytes; /* of the directory's path, that of the root included */
} RootAbove;

typedef struct PlacedDirectory PlacedDirectory;

/*
 * All arguments are borrowed; @own is the state directory, @boot the BOOT_DIRECTORIES.  Inode 0: there is none on this
 * filesystem.
 */
ScopeDirectories *scope_directories_new(const Filesystem *filesystem, Filter *filter,
					const FileKey *own, const FileKey *boot,
					LookupBudget *budget, const atomic_bool *stop);
void scope_directories_free(ScopeDirectories *directories);

/*
 * Find the directory @key.  NULL without an error: the budget has run out, or the pass is to stop.
 * Valid until the next call.
 */
bool scope_directories_find(ScopeDirectories *directories, const FileKey *key,
			    const PlacedDirectory **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The roots above the directory, the nearest first. */
const RootAbove *placed_directory_roots(const PlacedDirectory *directory, size_t *ret_n);

/* Whether the pass must skip @root, which is a file in the directory, because of the directory. */
bool scope_directories_leave_file(const ScopeDirectories *directories, const FileKey *directory,
				  const FilesystemRoot *root, SkipReason *ret_reason);

/* Whether the Filter excludes the file @name of the directory, reached from the root @above. */
bool scope_directories_exclude(ScopeDirectories *directories, const PlacedDirectory *directory,
			       const RootAbove *above, const char *name);

/* Directories that were searched for so far. */
uint64_t scope_directories_searches(const ScopeDirectories *directories);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ScopeDirectories, scope_directories_free)
