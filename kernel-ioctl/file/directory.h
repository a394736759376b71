/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/file-stat.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Directory - the entries of one open directory, a batch at a time, without "." and "..".
 *
 * A batch is the result of one getdents64 into 24 KiB, sorted by inode: the disk holds inodes in that order.
 * Memory is at most 48 KiB, or 8 KiB if 64 directories or more are open above, whatever the directory's size.
 *
 * Thread: any, one at a time.
 */
typedef struct Directory Directory;

typedef struct {
	uint64_t inode;     /* of a nested btrfs subvolume: its id, not the 256 of stat */
	unsigned char type; /* DT_*; DT_UNKNOWN where the filesystem does not say */
	const char *name;   /* any bytes but '/' and NUL; valid until the next batch */
} DirectoryEntry;

typedef enum {
	DIRECTORY_OPENED,
	DIRECTORY_GONE,        /* ENOENT, ENOTDIR, ELOOP: replaced or removed since it was listed */
	DIRECTORY_OTHER_MOUNT, /* another filesystem is mounted there */
	DIRECTORY_DENIED,      /* EACCES, EPERM */
	DIRECTORY_FAILED,      /* any other errno */
} DirectoryOutcome;

/*
 * Open the directory @name in @parent, without leaving the mount and without following a symlink.  Uses
 * openat2(2) with RESOLVE_NO_XDEV if the kernel (5.6) and the sandbox allow it, else openat and a comparison
 * of mount ids.  A nested btrfs subvolume is no other mount.  *ret_errno is set unless DIRECTORY_OPENED.
 */
DirectoryOutcome directory_open_in(const Directory *parent, const char *name, Directory **ret,
				   int *ret_errno);

/*
 * Like directory_open_in(), but returns a descriptor that the caller owns.  @stat is the stat of @name, or
 * NULL if @name is known to be no mount point.
 */
DirectoryOutcome directory_open_known(int parent_fd, const char *name, const FileStat *stat,
				      int *ret_fd, int *ret_errno) G_GNUC_WARN_UNUSED_RESULT;

/* Take over the open directory @fd, which lies in @parent; NULL: @fd is the outermost one. */
Directory *directory_new_take(int fd, const Directory *parent);

void directory_free(Directory *directory);

int directory_fd(const Directory *directory);

/* How many directories may be open inside each other: all descriptors but 128, at most 3968. */
size_t directory_levels_max(void);

/* The next entry, or NULL at the end.  False: the directory cannot be read further. */
bool directory_next(Directory *directory, const DirectoryEntry **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Directory, directory_free)
