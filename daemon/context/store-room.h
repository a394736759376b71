/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "common/files/skip.h"
#include "hashstore/hash-store.h"

/*
 * StoreRoom - how much more the store may record.
 *
 * Two limits hold.  The content of the store stays below StoreLimit=.  The filesystem of the state directory keeps
 * a reserve free: a twentieth of it, at most 1 GiB.  If less than that is free, a pass takes a sixteenth of the
 * free space, since a full filesystem needs deduplication most.  In any case as much as the store holds stays
 * free, since merging segments writes anchors once more.
 *
 * Files that share data with others get no more room once the store is half as large as it may become.  One user
 * can make any number of those, and they leave room for the data of others.
 *
 * Callers ask before they read a file or record an extent.  The room for a file is estimated from its data, so
 * that a file that does not fit is not read.  The limits are read from SQLite and statvfs(3) again once 4 MiB of
 * such estimates were taken or given back, and if something does not fit.
 *
 * Thread: the filesystem's worker.
 */
typedef struct StoreRoom StoreRoom;

/* @limit_bytes is the content that the store may have, see store_room_default_bytes(); @store is borrowed. */
StoreRoom *store_room_new(HashStore *store, const char *state_directory, uint64_t limit_bytes);
void store_room_free(StoreRoom *room);

/*
 * The limit for a filesystem of @filesystem_bytes: 64 MiB, and 1/32 of the filesystem.  A store takes about
 * 1/2000 of the data and 80 to 150 bytes a file.  The smallest file takes 4.6 KiB of XFS, so also one that is full
 * of these fits.
 */
uint64_t store_room_default_bytes(uint64_t filesystem_bytes);

/*
 * Take room for one object with @data_bytes of data.  Returns false, with the reason, if it does
 * not fit.  Otherwise, give *ret_taken back by store_room_give_back() once the object is recorded:
 * from then on the store counts it.  @has_anchors: false for an object that is recorded by its
 * digest alone.
 */
bool store_room_take(StoreRoom *room, uint64_t data_bytes, bool has_anchors, uint64_t *ret_taken,
		     SkipReason *ret_reason);
void store_room_give_back(StoreRoom *room, uint64_t taken);

/* Whether a file for which room was taken fits also if it shares data with others; false with the reason. */
bool store_room_is_for_clones(StoreRoom *room, uint64_t taken, SkipReason *ret_reason);

/* Whether anything did not fit. */
bool store_room_was_short(const StoreRoom *room);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreRoom, store_room_free)
