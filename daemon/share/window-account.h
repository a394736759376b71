/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/dedupe-window.h"
#include "daemon/share/run-sharer.h"

/*
 * The account of a DedupeWindow: what comparing it costs, what sharing it frees, and whether that is worth it.
 *
 * Thread: as Pass.
 */

/*
 * Add the blocks of @target, which is open, that others use, too, to @others; all blocks if this cannot be found out.
 * Call it before anything is shared onto the target: btrfs calls an extent shared as soon as one file references it
 * twice, which a replaced part brings about.
 */
void window_account_note_others(BlockSet *others, const OpenObject *target, uint32_t block_bytes);

/* Tell the mapped window about them. */
void window_account_recall_others(const BlockSet *others, DedupeWindow *window);

/*
 * Decide which candidates of the mapped window may be compared.  Blocks with several references are left to
 * CloneSharer, and blocks that cost more than the pass may compare are skipped: *costly_bytes grows by these.
 * @clone: only these blocks are shared, and only if they still lie there; NULL: a run.
 */
bool window_account_limit(Pass *pass, DedupeWindow *window, const CloneTarget *clone,
			  uint64_t *costly_bytes, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether window_account_limit() would leave the candidates to be compared now, as far as clones decide that. */
bool window_account_expects_compare(const Pass *pass, const DedupeWindow *window);

/* Charge the bytes that the window read.  @is_source_read: its source was read for another reference just before. */
void window_account_charge(Pass *pass, DedupeWindow *window, bool is_source_read);

/* Count the blocks of [@first, @end) that the kernel shared: they now lie where their source does. */
void window_account_add_shared(Pass *pass, const DedupeWindow *window, size_t first, size_t end);

/* In a dry run: count [@first, @end) as if the kernel had shared it. */
void window_account_add_expected(Pass *pass, const DedupeWindow *window, size_t first, size_t end);

/*
 * On XFS: note which of the files reference blocks of others.  The store does not know it if a pass did not end after
 * it shared them, or if another program cloned a file since it was read.
 */
void window_account_note_clones(const Pass *pass, const DedupeWindow *window);

/* Count the blocks that are shared already, and add them to @settled. */
void window_account_add_same_place(Pass *pass, const DedupeWindow *window, BlockSet *settled);
