/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * FileAttributes - the flags of an inode that matter for sharing its data.
 *
 * Sources: FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR, and FS_IOC_GETVERSION (the generation).  On btrfs a file can
 * lack checksums without FS_NOCOW_FL (mount option nodatasum); the kernel then answers EINVAL to sharing.
 *
 * Thread: any.
 */
typedef struct {
	uint32_t generation;
	bool is_immutable;   /* sharing into it answers EPERM, even to root */
	bool is_append_only; /* no obstacle */
	bool is_no_cow;      /* btrfs: shares only with other nodatacow files */
	bool is_realtime;    /* XFS: data on the realtime device */
	bool is_dax;
	uint32_t n_extents; /* XFS: of its data, without holes */
} FileAttributes;

/*
 * Make the empty file copy-on-write, with checksums and uncompressed, whatever its directory or the mount
 * options say.  False with errno.
 */
bool file_attributes_make_plain(int fd) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Make the empty file of btrfs nodatacow, without checksums, like the file it shall share with.  False with
 * errno.
 */
bool file_attributes_make_no_cow(int fd) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Remove the extent size hints and the project that the empty file inherited from its directory on XFS.
 * Ignores a refusal of the kernel.
 */
void file_attributes_drop_inherited(int fd);

bool file_attributes_read(int fd, FsKind kind, FileAttributes *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Like file_attributes_read(), for a file opened by a handle with @generation. */
bool file_attributes_read_known(int fd, FsKind kind, uint32_t generation, FileAttributes *ret,
				GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The project whose quota counts the file; 0: none.  False with errno. */
bool file_attributes_read_project(int fd, uint32_t *ret) G_GNUC_WARN_UNUSED_RESULT;
