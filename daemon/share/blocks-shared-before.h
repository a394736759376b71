/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/block-set.h"
#include "daemon/share/dedupe-window.h"

/*
 * Which blocks of a target others used too, before anything was shared onto it.
 *
 * btrfs calls an extent shared as soon as one file refers to it twice, so once a part of it was replaced:
 * what counts is how it was before.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Put the blocks of @target, which is open, that were shared before into @others; all blocks if this cannot be
 * found out.
 */
void blocks_shared_before_note(BlockSet *others, const OpenObject *target, uint32_t block_bytes);

/* Have the window know them. */
void blocks_shared_before_recall(const BlockSet *others, DedupeWindow *window);
