/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/sum-cache.h"
#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"

/*
 * StandIns - which blocks of the current file have anchors in the store already.  Then another file shows the same
 * blocks of the disk, or the file itself does so elsewhere.
 *
 * The store keeps the anchors of a block of the disk once.  So it grows with the data on the disk, however many
 * files show it.  The file that these anchors belong to is the stand-in for the other files.
 *
 * An anchor is left out if each of its blocks has a stand-in.  So for each block of the disk there are at most as
 * many anchors as an anchor has blocks.
 *
 * Memory: 8 bytes per object of the pass that is a stand-in or was given up.  Thread: the filesystem's worker.
 */
typedef struct StandIns StandIns;

/* @cache is borrowed.  With @by_owner, files stand in only for files of their owner. */
StandIns *stand_ins_new(SumCache *cache, uint32_t block_bytes, bool by_owner);
void stand_ins_free(StandIns *stands);

/* Blocks of @object, which belongs to @owner, come next. */
void stand_ins_begin(StandIns *stands, uint32_t object, uint32_t owner);

/* Find the stand-ins of the next @n_blocks blocks, at byte @physical of the disk, which others share. */
void stand_ins_look_up(StandIns *stands, uint64_t physical, size_t n_blocks, uint32_t *ret_stands);

/* The object stands in for those of the blocks that have no stand-in. */
void stand_ins_add(StandIns *stands, uint64_t physical, size_t n_blocks, const uint32_t *known);

/*
 * The next block, number @block of the file, has the stand-in @stand; 0: none.  Call it before the block's sum is
 * added.
 */
void stand_ins_next(StandIns *stands, uint64_t block, uint32_t stand);

/* Whether each of the @n_blocks blocks from @block on has a stand-in.  The last 128 blocks are known. */
bool stand_ins_cover(StandIns *stands, uint64_t block, uint32_t n_blocks);

/* Whether each block from @block up to the last one has a stand-in. */
bool stand_ins_cover_run(StandIns *stands, uint64_t block);

/* The stand-in for the blocks of this object so far; 0: none, UINT32_MAX: several. */
uint32_t stand_ins_stand(const StandIns *stands);

/* No more blocks come, and the object has no anchors for all of them: it is no stand-in. */
void stand_ins_give_up(StandIns *stands);

/*
 * Put the stand-ins of earlier passes into @cache: files that have all of their anchors themselves and did not
 * change since.  Maps the extents of all of them, but reads no data.  @before is the first object of this pass.
 */
bool stand_ins_load_earlier(Pass *pass, FileOpener *opener, SumCache *cache, uint32_t before,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StandIns, stand_ins_free)
