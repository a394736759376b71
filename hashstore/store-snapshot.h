/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/names.h"
#include "hashstore/objects.h"

/*
 * StoreSnapshot - a store as it stood at one moment, for several cursors that have to agree: whoever
 * changes it meanwhile is not seen.
 *
 * Thread: the owner's of the store.
 */
typedef struct StoreSnapshot StoreSnapshot;

/* @store and the snapshot outlive the cursors. */
StoreSnapshot *store_snapshot_take(HashStore *store, GError **error);

/* Accepts NULL. */
void store_snapshot_free(StoreSnapshot *snapshot);

/* As object_cursor_open() and directory_cursor_open(), of the snapshot. */
ObjectCursor *object_cursor_open_in(StoreSnapshot *snapshot, GError **error);
DirectoryCursor *directory_cursor_open_in(StoreSnapshot *snapshot, GError **error);

/*
 * AnchorCursor - all anchors in the order of (digest, object, block), also those that objects left there
 * which are gone.
 */
typedef struct AnchorCursor AnchorCursor;

AnchorCursor *anchor_cursor_open_in(StoreSnapshot *snapshot, GError **error);

/* The next ones, valid until the next call; none at the end. */
bool anchor_cursor_next(AnchorCursor *cursor, const Anchor **ret, size_t *ret_n, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void anchor_cursor_close(AnchorCursor *cursor);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreSnapshot, store_snapshot_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AnchorCursor, anchor_cursor_close)
