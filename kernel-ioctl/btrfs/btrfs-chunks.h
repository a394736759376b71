/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * BtrfsChunks - maps addresses of a btrfs filesystem to places on its devices.
 *
 * It is built from the items of the chunk tree, which are not trusted.  It knows all profiles of Linux 6.18.
 * For RAID5 and RAID6 it finds only the copy that holds the data itself; it computes nothing from parity.
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
 * Add a CHUNK_ITEM, by ascending @start (the key's offset).  False if it is too short, contradicts itself, or
 * begins before the end of the previous one.
 */
bool btrfs_chunks_add(BtrfsChunks *chunks, uint64_t start, const uint8_t *data, uint32_t length)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Find the copy @copy, counted from 0, of the @length bytes at @bytenr.  False if there is no such copy, or it is
 * not contiguous.
 */
bool btrfs_chunks_find(const BtrfsChunks *chunks, uint64_t bytenr, uint32_t length, unsigned copy,
		       BtrfsDevicePlace *ret) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BtrfsChunks, btrfs_chunks_free)
