/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/file-stat.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Directory - the entries of one open directory, a batch at a time.
 *
 * A batch is what one getdents64 into 24 KiB returns, in inode order, since inodes are read from
 * the disk in that order; "." and ".." are left out.  Memory is at most 48 KiB however large the
 * directory is, and at most 8 KiB if 64 directories or more are open above it.
 *
 * Thread: any, one at a time.
 */
typedef struct Directory Directory;

typedef struct {
	uint64_t inode; /* of a nested btrfs subvolume: its id, and not the 256 that a stat says */
	unsigned char type; /* DT_*; DT_UNKNOWN where the filesystem does not say */
	const char *name;   /* any bytes but '/' and NUL; valid until the next batch */
} DirectoryEntry;

typedef enum {
	DIRECTORY_OPENED,
	DIRECTORY_GONE,        /* ENOENT, ENOTDIR, ELOOP: replaced or removed since it was listed */
	DIRECTORY_OTHER_MOUNT, /* something is mounted there */
	DIRECTORY_DENIED,      /* EACCES, EPERM */
	DIRECTORY_FAILED,      /* any other errno */
} DirectoryOutcome;

/*
 * Open the directory @name in @parent without leaving the mount and without following a
 * symlink: openat2(2) with RESOLVE_NO_XDEV where the kernel (5.6) and the sandbox allow it, else
 * openat and a comparison of mount ids.  A nested btrfs subvolume is no other mount.
 * *ret_errno is set unless DIRECTORY_OPENED.
 */
DirectoryOutcome directory_open_in(const Directory *parent, const char *name, Directory **ret,
				   int *ret_errno);

/*
 * The same, of a name of which @stat says what it is, or NULL where nothing is mounted; a descriptor, to be
 * taken over.
 */
DirectoryOutcome directory_open_known(int parent_fd, const char *name, const FileStat *stat,
				      int *ret_fd, int *ret_errno) G_GNUC_WARN_UNUSED_RESULT;

/* Take over the open directory @fd, which lies in @parent; NULL: the outermost one. */
Directory *directory_new_take(int fd, const Directory *parent);

void directory_free(Directory *directory);

int directory_fd(const Directory *directory);

/* How many directories may be open inside each other: as many as there are descriptors to spare, up to 3968. */
size_t directory_levels_max(void);

/* The next entry; NULL at the end.  False: the directory could not be read on. */
bool directory_next(Directory *directory, const DirectoryEntry **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Directory, directory_free)
