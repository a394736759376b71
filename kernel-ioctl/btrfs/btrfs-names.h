/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsNames - under which names files and directories of btrfs are found, in whatever subvolume,
 * mounted or not.
 *
 * From INODE_REF, INODE_EXTREF and ROOT_BACKREF items (BTRFS_IOC_TREE_SEARCH_V2, needs
 * CAP_SYS_ADMIN), one step up at a time, so that each directory on the way is known by its inode.
 * BTRFS_IOC_INO_PATHS would not do: it gives 4 KiB of text at most, for all hard links together,
 * and BTRFS_IOC_INO_LOOKUP fails on longer paths (Linux 6.18).
 *
 * The names of 16384 directories are remembered: one that is renamed meanwhile may be found under
 * its old name.  Names are bytes, terminated by NUL.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsNames BtrfsNames;

typedef struct {
	uint64_t root;      /* id of the subvolume that the directory lies in */
	uint64_t directory; /* its inode */
	const char *name;   /* in it */
} BtrfsName;

/* The inode of every subvolume's topmost directory. */
#define BTRFS_NAMES_TOP_INODE UINT64_C(256)

/* @fd is any directory of the filesystem, and stays open. */
BtrfsNames *btrfs_names_new(int fd);
void btrfs_names_free(BtrfsNames *names);

/* Begin with the names of the file @inode of the subvolume @root; all names given so far end. */
void btrfs_names_start(BtrfsNames *names, uint64_t root, uint64_t inode);

/*
 * The next name; NULL at the end.  Valid until the next call.  An inode that is deleted, though
 * perhaps still open, has none, nor has one of a subvolume that is being deleted.
 */
bool btrfs_names_next(BtrfsNames *names, const BtrfsName **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The only name of the directory @inode of the subvolume @root; where a subvolume begins, that is
 * its name in the one around it.  NULL for the top level's own directory and for what is deleted.
 * Valid until the next call of this function.
 */
bool btrfs_names_of_directory(BtrfsNames *names, uint64_t root, uint64_t inode,
			      const BtrfsName **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsNames, btrfs_names_free)
