/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchors.h"

#include "hashstore/anchors/anchor-sort.h"
#include "hashstore/anchors/segment.h"
#include "hashstore/database/store-state.h"
#include "hashstore/database/store-transaction.h"

/* Write the anchors in memory as a segment. */
static bool write_segment(HashStore *store, GError **error)
{
	g_autoptr(SegmentWriter) writer = segment_writer_new(store, error);
	size_t n;

	if (!writer)
		return false;

	anchor_sort(store->anchors, store->n_anchors);
	n = anchor_unique(store->anchors, store->n_anchors);
	store->n_anchors = 0;
	if (!segment_writer_add(writer, store->anchors, n, error) ||
	    !segment_writer_finish(writer, 0, error)) {
		store->failed = true;
		return false;
	}

	return true;
}

bool hash_store_put_anchor(HashStore *store, const Anchor *anchor, GError **error)
{
	if (G_UNLIKELY(!store->anchors)) {
		if (!hash_store_begin(store, error))
			return false;
		store->anchors = g_malloc(store->memory_bytes);
		store->n_anchors = 0;
	}
	store->anchors[store->n_anchors++] = *anchor;
	if (G_LIKELY(store->n_anchors < store->memory_bytes / sizeof(Anchor)))
		return true;

	return write_segment(store, error);
}

bool hash_store_flush_anchors(HashStore *store, GError **error)
{
	if (!store->anchors)
		return true;
	if (store->n_anchors > 0 && !write_segment(store, error))
		return false;

	/* Free the memory for its next user. */
	g_clear_pointer(&store->anchors, g_free);

	return true;
}
