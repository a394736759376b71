/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/block-sums.h"
#include "daemon/context/pass.h"

/*
 * ExtentReads - keeps the sums of blocks that were read, of files without checksums on btrfs, with the data
 * extents that hold these blocks.
 *
 * From then on ExtentSums has sums for these extents too, so that they are fingerprinted, matched and planned
 * for as all others are.  The sums are hints: such a file may be overwritten in place, and the kernel compares
 * before it shares.
 *
 * The kernel shares data only between files that both have checksums or both have none.  So no sum of a block
 * that was read is that of a checksum.  Files that are overwritten in place are kept apart from others without
 * checksums in the same way.
 *
 * Memory: an eighth of the pass's limit.
 * Thread: the filesystem's worker.
 */
typedef struct ExtentReads ExtentReads;

ExtentReads *extent_reads_new(Pass *pass);
void extent_reads_free(ExtentReads *reads);

/* @sums of the @n_blocks blocks at the address @bytenr were read, from a file that is_no_cow or not. */
bool extent_reads_add(ExtentReads *reads, uint64_t bytenr, const uint64_t *sums, size_t n_blocks,
		      bool is_no_cow, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Put all that was added into the store.  What no known extent has is left out. */
bool extent_reads_flush(ExtentReads *reads, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Forget what was read of the extents that the file shows: it is to be left alone. */
bool extent_reads_forget_file(Pass *pass, uint64_t root, uint64_t inode, uint64_t size_bytes,
			      GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentReads, extent_reads_free)
