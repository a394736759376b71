/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsChunks - where on its devices a btrfs keeps what lies at an address.
 *
 * From the items of the chunk tree, which are not trusted.  All profiles of Linux 6.18 are known.
 * Of RAID5 and RAID6 only the copy that holds the data itself is told, nothing is computed from
 * parity.
 *
 * Facts: struct btrfs_chunk of <linux/btrfs_tree.h>; btrfs_map_block() in fs/btrfs/volumes.c.
 *
 * Thread: any, one at a time.
 */
typedef struct BtrfsChunks BtrfsChunks;

typedef struct {
	uint64_t device; /* id */
	uint64_t offset; /* in bytes, on the device */
} BtrfsDevicePlace;

BtrfsChunks *btrfs_chunks_new(void);
void btrfs_chunks_free(BtrfsChunks *chunks);

/*
 * Add what a CHUNK_ITEM says, by ascending @start (the key's offset).  False if it is too short or
 * contradicts itself, or begins before the end of the one before it.
 */
bool btrfs_chunks_add(BtrfsChunks *chunks, uint64_t start, const uint8_t *data, uint32_t length)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Where the copy @copy, from 0 on, of the @length bytes at @bytenr lies.  False where there is no
 * such copy, or it does not lie in one piece.
 */
bool btrfs_chunks_find(const BtrfsChunks *chunks, uint64_t bytenr, uint32_t length, unsigned copy,
		       BtrfsDevicePlace *ret) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsChunks, btrfs_chunks_free)
