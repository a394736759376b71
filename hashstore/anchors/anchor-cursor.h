/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"
#include "hashstore/database/store-snapshot.h"

/* AnchorCursor - all anchors in order of (digest, object, block), including those of dropped objects. */
typedef struct AnchorCursor AnchorCursor;

AnchorCursor *anchor_cursor_open_in(StoreSnapshot *snapshot, GError **error);

/* The next anchors, valid until the next call; *ret_n is 0 at the end. */
bool anchor_cursor_next(AnchorCursor *cursor, const Anchor **ret, size_t *ret_n, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void anchor_cursor_close(AnchorCursor *cursor);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(AnchorCursor, anchor_cursor_close)
