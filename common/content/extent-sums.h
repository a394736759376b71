/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExtentSums - the block sums of btrfs's data as btrfs keeps them: its checksum tree, read in the
 * order of addresses.
 *
 * Each checksum is hashed with the secret of the store, so that sums have 64 bits whatever their
 * kind; two equal ones say no more than two equal checksums.  Asking for rising addresses that lie
 * close together costs one walk over the tree; any other address costs a search, unless it lies near
 * one that was asked for lately.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentSums ExtentSums;

/* The block has no sum: it was not written, or its file has no checksums and was not read.  No sum is 0. */
#define EXTENT_SUM_NONE UINT64_C(0)

/* @fd is any directory of the filesystem; @secret has HASH_STORE_SECRET_BYTES bytes.  Both stay. */
ExtentSums *extent_sums_new(int fd, const BtrfsInfo *info, const uint8_t *secret);
void extent_sums_free(ExtentSums *sums);

/*
 * From now on blocks without a checksum have the sums from reading that @store, borrowed, has of them
 * (hashstore/objects/read-sums.h).
 */
void extent_sums_use_store(ExtentSums *sums, HashStore *store);

/* Whether @sum is that of a block of zeros that was read.  A hole does not do for it. */
bool extent_sums_are_read_zeros(const ExtentSums *sums, uint64_t sum);

/*
 * The sum of a block of zeros; EXTENT_SUM_NONE where it is not known, as of a kind of checksum newer than
 * this program: zeros are data like any other then.
 */
uint64_t extent_sums_of_zeros(const ExtentSums *sums);

/* Of each checksum on the disk. */
uint32_t extent_sums_bytes(const ExtentSums *sums);

/* Forget what was read: blocks may have got other sums. */
void extent_sums_forget(ExtentSums *sums);

/* The sum that a block with this data has; EXTENT_SUM_NONE where it cannot be computed (BLAKE2b). */
uint64_t extent_sums_of_data(const ExtentSums *sums, const uint8_t *block);

/* The sums of the @n_blocks blocks from the address @bytenr on. */
bool extent_sums_read(ExtentSums *sums, uint64_t bytenr, size_t n_blocks, uint64_t *ret,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentSums, extent_sums_free)
