/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * FileAttributes - what an inode's flags say about sharing its data.
 *
 * From FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR and FS_IOC_GETVERSION (the generation).  On btrfs a file
 * can lack checksums without FS_NOCOW_FL saying so (mount option nodatasum); the kernel then
 * answers EINVAL to sharing.
 *
 * Thread: any.
 */
typedef struct {
	uint32_t generation;
	bool is_immutable;   /* sharing into it answers EPERM, to root too */
	bool is_append_only; /* no obstacle */
	bool is_no_cow;      /* btrfs: shares only with its like */
	bool is_realtime;    /* XFS: data on the realtime device */
	bool is_dax;
	uint32_t n_extents; /* XFS: of its data, without holes */
} FileAttributes;

/*
 * Take from the empty file what it got of its directory or mount options: that it is overwritten in
 * place or without checksums, and that it is compressed.  False with errno where that cannot be.
 */
bool file_attributes_make_plain(int fd) G_GNUC_WARN_UNUSED_RESULT;

/* Have the empty file, on btrfs, be without checksums, as what it is to be shared with.  False with errno. */
bool file_attributes_make_no_cow(int fd) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Take the extent size hints and the project from the empty file, which it got of its directory on XFS.
 * A kernel that does not allow that is no error: both are hints.
 */
void file_attributes_drop_inherited(int fd);

bool file_attributes_read(int fd, FsKind kind, FileAttributes *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The same of a file that was opened by a handle, of which @generation, then, is the generation. */
bool file_attributes_read_known(int fd, FsKind kind, uint32_t generation, FileAttributes *ret,
				GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The project whose quota the file counts to; 0: none.  False with errno where that cannot be told. */
bool file_attributes_read_project(int fd, uint32_t *ret) G_GNUC_WARN_UNUSED_RESULT;
