/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"
#include "hashstore/database/store.h"

/*
 * Groups - entries with one digest, at least one of them of an unsettled object.
 *
 * Few new entries (at most 1/50 of the stored ones) are looked up in the settled segments through their
 * sparse indexes, in key order.  Otherwise all segments are read and merged.  In both cases memory is the
 * store's sort limit.
 *
 * Digests come in rising order, members in order of (object, block).  The group of ANCHOR_ZEROS_DIGEST has all
 * its unsettled members and may have a single one; every other group has at least two.  A group of more than
 * GROUP_MEMBERS_MAX members is cut: first to one settled member, then to the limit; members beyond it are
 * counted as capped.  Zeros come in as many groups as they need and are never capped.
 *
 * All anchors must be committed.  Thread: the filesystem's worker.
 */
#define GROUP_MEMBERS_MAX 65536

typedef struct Groups Groups;

typedef struct {
	const Anchor *members; /* valid until the next call */
	size_t n_members;
	uint64_t n_capped; /* members left out of this group, without settled ones */
} Group;

/* @is_live tells which objects still exist; entries of others are skipped. */
Groups *groups_open(HashStore *store, bool (*is_live)(uint32_t object, void *data), void *data,
		    GError **error);

/* The next group; NULL at the end, and after a request to stop. */
bool groups_next(Groups *groups, const Group **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Begin again with the first group. */
bool groups_rewind(Groups *groups, GError **error) G_GNUC_WARN_UNUSED_RESULT;

void groups_close(Groups *groups);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Groups, groups_close)
