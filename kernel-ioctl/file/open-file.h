/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/file-id.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <stdbool.h>

/*
 * OpenFile - opens regular files of other people for reading, safely.
 *
 * Flags are always O_RDONLY|O_NONBLOCK|O_NOFOLLOW|O_CLOEXEC|O_NOCTTY, and O_NOATIME if permitted.  By name,
 * the type is checked through an O_PATH descriptor first, and again on the opened file.  So a FIFO or device
 * that replaces the file is neither waited for nor opened.  If opening would break a lease, the kernel tells
 * the lease's holder, and the open fails with EAGAIN because of O_NONBLOCK (fcntl(2), F_SETLEASE).
 *
 * Thread: any.
 */
typedef enum {
	OPEN_OPENED,
	OPEN_GONE,        /* ENOENT, ESTALE, ELOOP, ENOTDIR: deleted or replaced */
	OPEN_NOT_REGULAR, /* a symlink, directory, FIFO, socket or device */
	OPEN_LEASED,      /* EAGAIN, EWOULDBLOCK */
	OPEN_DENIED,      /* EACCES, EPERM */
	OPEN_UNREADABLE,  /* EIO, EUCLEAN and the like: the disk or the filesystem is damaged */
	OPEN_FAILED,      /* any other errno */
} OpenOutcome;

/*
 * Open by handle, which needs CAP_DAC_READ_SEARCH.  @mount_fd is any descriptor of the filesystem that is not
 * O_PATH.  The handle contains the generation, so another file that reused the inode number is OPEN_GONE.  @id
 * must have been seen as a regular file: a device would be opened before it is refused.  *ret_errno is 0 on
 * OPEN_OPENED and OPEN_NOT_REGULAR.
 */
OpenOutcome open_file_by_id(int mount_fd, FsKind kind, const FileId *id, int *ret_fd,
			    int *ret_errno);

/* Like open_file_by_id(), for an id that is known to be a regular file: the type is not checked. */
OpenOutcome open_regular_file_by_id(int mount_fd, FsKind kind, const FileId *id, int *ret_fd,
				    int *ret_errno);

/* Open a directory by handle for reading; -1 with errno.  Needs the same as open_file_by_id(). */
int open_directory_by_id(int mount_fd, FsKind kind, const FileId *id);

/* This process can open by handle on this filesystem: tried on @mount_fd itself. */
bool open_file_by_id_works(int mount_fd, FsKind kind);

/* Open @name in the directory @dir_fd. */
OpenOutcome open_file_at(int dir_fd, const char *name, int *ret_fd, int *ret_errno);

/*
 * Open the file of @fd a second time, for direct reads (O_DIRECT).  -1 if the filesystem has no such reads, or /proc
 * is not there.
 */
int open_file_direct(int fd);

/*
 * Open the directory or regular file @path, following symlinks and triggering automounts.  Nothing else is
 * opened, since opening a FIFO or a device may have an effect; such a path is OPEN_NOT_REGULAR.
 */
OpenOutcome open_file_or_directory(const char *path, int *ret_fd, int *ret_errno);

/* The outcome for an errno value of opening a file, or a directory on the way to it. */
OpenOutcome open_outcome_of(int error);
