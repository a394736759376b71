/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/block-sums.h"
#include "daemon/context/pass.h"

/*
 * ExtentReads - stores the sums of blocks without checksums with the data extents of btrfs that contain these
 * blocks.
 *
 * Then ExtentSums has sums for these extents, too, so that they are fingerprinted, matched and planned like all
 * others.  The sums are hints: such a file may be overwritten in place, and the kernel compares before it shares.
 *
 * The kernel shares only between files that both have checksums or both have none.  So no sum of a block that was
 * read equals that of a checksum.  Nodatacow files are kept apart from other files without checksums in the same
 * way.
 *
 * Memory: an eighth of the pass's limit.  Thread: the filesystem's worker.
 */
typedef struct ExtentReads ExtentReads;

ExtentReads *extent_reads_new(Pass *pass);
void extent_reads_free(ExtentReads *reads);

/* @sums of the @n_blocks blocks at the address @bytenr were read, from a file that is_no_cow or not. */
bool extent_reads_add(ExtentReads *reads, uint64_t bytenr, const uint64_t *sums, size_t n_blocks,
		      bool is_no_cow, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Put all that was added into the store, but nothing of extents that it does not know. */
bool extent_reads_flush(ExtentReads *reads, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Forget the sums of the extents that the file shows: it is to be skipped. */
bool extent_reads_forget_file(Pass *pass, uint64_t root, uint64_t inode, uint64_t size_bytes,
			      GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentReads, extent_reads_free)
