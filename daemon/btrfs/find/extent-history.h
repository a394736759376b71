/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * ExtentHistory - whether a btrfs filesystem still has the transactions that the store knows: see FsHistory.
 *
 * A filesystem that was set back uses the same transaction numbers again.  Inodes tell the transactions apart: a
 * witness is an inode, the transaction that last changed it, and its change time.
 *
 * | the inode now | what it says |
 * |---|---|
 * | unchanged | the filesystem has that transaction, and all before it |
 * | last changed by another one that the store knows | the filesystem was set back |
 * | changed later, or gone | nothing |
 *
 * Extents up to the latest proven transaction need no look.  Younger ones are compared with the store, by their
 * checksums.
 *
 * Thread: the filesystem's worker.
 */
bool extent_history_check(Pass *pass, const Witnesses *witnesses, bool *ret_is_continued,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Add inodes that changed since, first those that the pass shared onto, and measure all again. */
bool extent_history_remember(Pass *pass, Witnesses *witnesses, bool *ret_is_changed, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
