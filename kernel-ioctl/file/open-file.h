/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/call/file-id.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <stdbool.h>

/*
 * Opening regular files of other people for reading, safely.
 *
 * Always O_RDONLY|O_NONBLOCK|O_NOFOLLOW|O_CLOEXEC|O_NOCTTY, and O_NOATIME where permitted.  By name
 * the type is checked through an O_PATH descriptor first and again on what was opened, so that a
 * FIFO or device swapped in is neither waited for nor opened.  A file under a lease that an open
 * for reading would break answers EAGAIN, since O_NONBLOCK does not wait for the lease's holder
 * (who is told nevertheless; fcntl(2), F_SETLEASE).
 *
 * Thread: any.
 */
typedef enum {
	OPEN_OPENED,
	OPEN_GONE,        /* ENOENT, ESTALE, ELOOP, ENOTDIR: deleted or replaced */
	OPEN_NOT_REGULAR, /* a symlink, directory, FIFO, socket or device */
	OPEN_LEASED,      /* EAGAIN, EWOULDBLOCK */
	OPEN_DENIED,      /* EACCES, EPERM */
	OPEN_UNREADABLE,  /* EIO, EUCLEAN and their like: the disk or the filesystem is damaged */
	OPEN_FAILED,      /* any other errno */
} OpenOutcome;

/*
 * Open by handle.  @mount_fd is any descriptor of the filesystem that is not O_PATH; the caller
 * needs CAP_DAC_READ_SEARCH.  The generation is part of the handle, so another file that has got
 * the inode number is OPEN_GONE.  The id is to be of what was seen to be a regular file: a device
 * would be opened before it is refused.  *ret_errno is 0 on OPEN_OPENED and OPEN_NOT_REGULAR.
 */
OpenOutcome open_file_by_id(int mount_fd, FsKind kind, const FileId *id, int *ret_fd,
			    int *ret_errno);

/* The same of a generation that is known to be of a regular file, which it stays: its type is not asked. */
OpenOutcome open_regular_file_by_id(int mount_fd, FsKind kind, const FileId *id, int *ret_fd,
				    int *ret_errno);

/* A directory by handle, for reading; -1 with errno.  What it needs is as above. */
int open_directory_by_id(int mount_fd, FsKind kind, const FileId *id);

/* Whether this process may open by handle on this filesystem: tried on @mount_fd itself. */
bool open_file_by_id_works(int mount_fd, FsKind kind);

/* Open @name in the directory @dir_fd. */
OpenOutcome open_file_at(int dir_fd, const char *name, int *ret_fd, int *ret_errno);

/*
 * Open the directory or regular file that @path names, following symlinks and mounting what an automount
 * waits for.  Nothing else is opened, since opening a FIFO or a device may have an effect.  OPEN_NOT_REGULAR then
 * means that it is neither.
 */
OpenOutcome open_file_or_directory(const char *path, int *ret_fd, int *ret_errno);

/* What an errno value of opening a file or a directory on the way to it means. */
OpenOutcome open_outcome_of(int error);
