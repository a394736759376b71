/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * RelayFile - an unnamed file of XFS through which the first block of a file is deduplicated.
 *
 * XFS copies the CoW extent size hint of the source to the target if one request covers both files completely
 * (xfs_file_remap_range(), Linux 6.18).  A file with the hint allocates up to the hint for a write of one byte
 * to a shared block.  Users can set the hint on their own files, and change the size of these, at any moment.
 * So a check of the source before the request is a race.
 *
 * The relay holds the cloned block behind its offset 0; XFS copies no hint from there.  Nobody else can open
 * the relay.
 *
 * Thread: one at a time.
 */
typedef struct RelayFile RelayFile;

/* @fd is an empty unnamed file, open for writing; @block_bytes is the filesystem's block size. */
RelayFile *relay_file_new_take(int fd, uint32_t block_bytes);
void relay_file_free(RelayFile *relay);

int relay_file_fd(const RelayFile *relay);

/* The offset of the clone. */
uint64_t relay_file_offset(const RelayFile *relay);

/*
 * Clone the first @length bytes of @source_fd, at most a block.  A shorter @length must be the size of the
 * source.  Returns 0 or an errno value.
 */
int relay_file_clone(RelayFile *relay, int source_fd, uint64_t length);

/* Drop the clone, so that the relay holds no reference to the source's block. */
void relay_file_empty(RelayFile *relay);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RelayFile, relay_file_free)
