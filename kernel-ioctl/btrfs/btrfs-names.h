/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsNames - the names of files and directories of btrfs, in any subvolume, mounted or not.
 *
 * The sources are INODE_REF, INODE_EXTREF and ROOT_BACKREF items (BTRFS_IOC_TREE_SEARCH_V2, needs
 * CAP_SYS_ADMIN).  Each step goes up one directory, so each directory on the way is known by its
 * inode.  BTRFS_IOC_INO_PATHS gives at most 4 KiB of text for all hard links together, and
 * BTRFS_IOC_INO_LOOKUP fails on longer paths (Linux 6.18).
 *
 * The names of 16384 directories are cached: a directory that is renamed meanwhile may be found under its old
 * name.  Names are bytes, terminated by NUL.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsNames BtrfsNames;

typedef struct {
	uint64_t root;      /* id of the directory's subvolume */
	uint64_t directory; /* its inode */
	const char *name;   /* in the directory */
} BtrfsName;

/* The inode of the top directory of every subvolume. */
#define BTRFS_NAMES_TOP_INODE UINT64_C(256)

/* @fd is any directory of the filesystem, and stays open. */
BtrfsNames *btrfs_names_new(int fd);
void btrfs_names_free(BtrfsNames *names);

/*
 * Begin with the names of the file @inode of the subvolume @root; all names returned so far become invalid.
 */
void btrfs_names_start(BtrfsNames *names, uint64_t root, uint64_t inode);

/*
 * The next name, valid until the next call; NULL at the end.  A deleted inode has no name, even if it is still
 * open; nor has an inode of a subvolume that is being deleted.
 */
bool btrfs_names_next(BtrfsNames *names, const BtrfsName **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * The only name of the directory @inode of the subvolume @root, valid until the next call of this
 * function.  The top directory of a subvolume has the name of the subvolume in the one that contains it.  NULL
 * for the top level's own directory, and for deleted ones.
 */
bool btrfs_names_of_directory(BtrfsNames *names, uint64_t root, uint64_t inode,
			      const BtrfsName **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsNames, btrfs_names_free)
