/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "kernel-ioctl/file/file-stat.h"

/*
 * Walk - all directories and regular files below a Filesystem's roots, one statx each.
 *
 * It goes from open directory to open directory, so no rename can lead it elsewhere.  It enters nested btrfs
 * subvolumes, but no other mounts.
 *
 * It skips and counts files that the Filter excludes, small files, special files, and the state
 * directory.  It also skips unreadable directories, and read-only snapshots if the settings say so.
 * It skips directories that are too deep for its descriptors, or below a path of more than
 * FILTER_PATH_BYTES_MAX.  It skips the running system's /boot and /efi under any name, unless the
 * walk begins in them by that name.
 *
 * A file with several names comes once for each of them.
 *
 * Thread: the filesystem's worker.
 */
typedef struct Walk Walk;

typedef struct {
	bool is_directory;
	uint64_t subvolume;
	uint64_t parent_subvolume;
	uint64_t parent;  /* inode of the directory; 0 for a root */
	const char *name; /* last component; for a root, the absolute path */
	FileStat stat;
	bool is_foreign; /* a file that this process may not share onto */
} WalkEntry;

/* @pass is borrowed; the walk does not enter @state_directory. */
Walk *walk_new(const Pass *pass, const FileStat *state_directory);
void walk_free(Walk *walk);

/*
 * The next directory or file of at least the minimal size; NULL at the end, or when the pass is to stop.  It pays for
 * what it reads, and counts regular files that are not excluded in the progress: small ones, too, and every name.
 */
bool walk_next(Walk *walk, const WalkEntry **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Whether the finished walk saw all of the subvolume: it entered the top directory, or skipped it on purpose, or
 * saw all of the subvolume that contains all others.  Files of the store there that the walk did not meet are gone.
 */
bool walk_saw_all_of(const Walk *walk, uint64_t subvolume);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Walk, walk_free)
