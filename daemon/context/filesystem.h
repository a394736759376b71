/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <glib.h>
#include <stdbool.h>

/*
 * Filesystem - one mounted btrfs or XFS filesystem that a pass works on, and its roots there.
 *
 * Paths given by the user are grouped by UUID.  One Filesystem has all paths of its UUID: absolute, free of
 * symlinks, and without those that lie inside another one.
 *
 * Set when found; only filesystem_close() changes it.  Thread: any.
 */
#define FILESYSTEM_ERROR (filesystem_error_quark())
GQuark filesystem_error_quark(void);

typedef enum {
	FILESYSTEM_ERROR_PATH,       /* a path that does not exist, or lies on another kind */
	FILESYSTEM_ERROR_UNSUITABLE, /* read-only, no reflink */
	FILESYSTEM_ERROR_IN_USE,     /* a pass over it is made already */
} FilesystemError;

typedef struct {
	char *path;         /* absolute, as raw bytes */
	uint64_t mount_id;  /* of the mount that shows it */
	uint64_t subvolume; /* that it lies in; 0 on XFS */
	uint64_t inode;
	int64_t btime_nsec; /* an inode number may be given to another file */
	bool is_mount_root; /* all that the mount shows */
	bool is_file;       /* a single regular file */
	bool is_top;        /* the top directory of the subvolume, or of the XFS filesystem */
} FilesystemRoot;

typedef struct {
	FsIdentity identity;
	char uuid[FS_UUID_TEXT_BYTES];
	char *mount_point;
	int fd; /* of the mount point's directory; any handle is opened through it */
	dev_t device;
	bool opens_by_id;
	bool counts_quota; /* XFS: of users, groups or projects */
	GPtrArray *roots;  /* FilesystemRoot */
	GError *refusal;   /* why nothing can be deduplicated here; NULL: it can */
} Filesystem;

/*
 * The filesystems of @paths, in the order in which they are first named (Filesystem).  One that cannot share
 * extents, or is mounted read-only, is included with its refusal.  A path that does not exist or lies on another
 * kind of filesystem is an error.
 */
GPtrArray *filesystems_find(char *const *paths, GError **error);

/*
 * Open the directory of a root with @flags; if the root is a file, the directory above it.  Returns
 * -1 with errno on failure.  It is ESTALE if the path names something else by now: another user may
 * own a part of it.
 */
int filesystem_root_open(const Filesystem *filesystem, const FilesystemRoot *root, int flags);

void filesystem_free(Filesystem *filesystem);

/*
 * Close it; its last user calls this.  If the filesystem was unmounted lazily meanwhile, the unmount ends here and
 * may take long.
 */
void filesystem_close(Filesystem *filesystem);

/*
 * Whether it may be the one that is mounted from @device, as in mountinfo.  A copy of an XFS filesystem has the
 * same UUID but another device.  On btrfs each subvolume shows a device of its own.
 */
bool filesystem_may_be_on(const Filesystem *filesystem, dev_t device);

/* Write out all dirty data (syncfs). */
bool filesystem_flush(const Filesystem *filesystem, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Filesystem, filesystem_free)
