/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/sum-cache.h"

#include <glib.h>

/*
 * StandIns - which blocks of the file that is fingerprinted have anchors in the store already, since
 * another file shows the same blocks of the disk, or another place of this one does.
 *
 * The store keeps the anchors of a block of the disk once, so it follows the data on the disk, however
 * many files and places show it.  The file whose anchors these are stands for the others.
 *
 * An anchor is left out if each of its blocks has a stand.  So for each block of the disk there are at
 * most as many anchors as one has blocks.
 *
 * Memory: 8 bytes per object of the pass that stands for any block or was given up.
 * Thread: the filesystem's worker.
 */
typedef struct StandIns StandIns;

/* @cache is borrowed.  With @by_owner only files of one owner stand for each other. */
StandIns *stand_ins_new(SumCache *cache, uint32_t block_bytes, bool by_owner);
void stand_ins_free(StandIns *stands);

/* Blocks of @object, which belongs to @owner, come next. */
void stand_ins_begin(StandIns *stands, uint32_t object, uint32_t owner);

/* @n_blocks blocks at byte @physical of the disk, which others share, come next: *ret_stands of each. */
void stand_ins_look_up(StandIns *stands, uint64_t physical, size_t n_blocks, uint32_t *ret_stands);

/* From here on the object stands for those of them that have no stand. */
void stand_ins_add(StandIns *stands, uint64_t physical, size_t n_blocks, const uint32_t *known);

/* The next block, number @block of the file, has @stand; 0: none.  Called before its sum is added. */
void stand_ins_next(StandIns *stands, uint64_t block, uint32_t stand);

/* Whether each of the @n_blocks blocks from @block on has a stand: of the last 128 that came. */
bool stand_ins_cover(StandIns *stands, uint64_t block, uint32_t n_blocks);

/* Whether each block from @block on, up to the last one that came, has a stand. */
bool stand_ins_cover_run(StandIns *stands, uint64_t block);

/*
 * No more blocks come.  Without @is_kept the object has no anchors after all, and stands for nothing.
 * Returns the object that stands for blocks of this one; 0: none, UINT32_MAX: several.
 */
uint32_t stand_ins_end(StandIns *stands, bool is_kept);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StandIns, stand_ins_free)
