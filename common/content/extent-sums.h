/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExtentSums - the block sums of btrfs data from its checksum tree, read in the order of addresses.
 *
 * Each checksum is hashed with the store's secret, so sums have 64 bits for any kind of checksum.  Two equal
 * sums prove no more than two equal checksums.  Rising addresses that are close together cost one walk over
 * the tree.  Any other address costs a search, unless it is near one of the last addresses.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentSums ExtentSums;

/* The sum of a block that was not written, or whose file has no checksums and was not read.  No sum is 0. */
#define EXTENT_SUM_NONE UINT64_C(0)

/*
 * @fd is any directory of the filesystem; @secret has HASH_STORE_SECRET_BYTES bytes.  Both must outlive the
 * ExtentSums.
 */
ExtentSums *extent_sums_new(int fd, const BtrfsInfo *info, const uint8_t *secret);
void extent_sums_free(ExtentSums *sums);

/*
 * Use the sums from reading in @store, borrowed, for blocks without a checksum
 * (hashstore/objects/read-sums.h).
 */
void extent_sums_use_store(ExtentSums *sums, HashStore *store);

/* @sum is that of a block of zeros from reading.  A hole cannot replace such a block. */
bool extent_sums_are_read_zeros(const ExtentSums *sums, uint64_t sum);

/*
 * The sum of a block of zeros.  EXTENT_SUM_NONE if it is not known, for kinds of checksum newer than this
 * program: zeros are then ordinary data.
 */
uint64_t extent_sums_of_zeros(const ExtentSums *sums);

/* The size of a checksum on the disk. */
uint32_t extent_sums_bytes(const ExtentSums *sums);

/* Forget all sums that were read: blocks may have changed. */
void extent_sums_forget(ExtentSums *sums);

/* The sum of a block with this data; EXTENT_SUM_NONE if it cannot be computed (BLAKE2b). */
uint64_t extent_sums_of_data(const ExtentSums *sums, const uint8_t *block);

/* Read the sums of the @n_blocks blocks at the address @bytenr. */
bool extent_sums_read(ExtentSums *sums, uint64_t bytenr, size_t n_blocks, uint64_t *ret,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentSums, extent_sums_free)
