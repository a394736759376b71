/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/store-change.h"

#define MEMORY_BYTES ((size_t)16 << 20)

HashStore *store_change_open(const StoreEntry *entry, const char *directory, GError **error)
{
	const HashStoreAbout *about = hash_store_about(entry->store);
	const HashStoreOptions options = {
		.directory = directory,
		.uuid = about->uuid,
		.kind = about->kind,
		.block_bytes = about->block_bytes,
		.anchor_blocks = about->anchor_blocks,
		.window_anchors = about->window_anchors,
		.memory_bytes = MEMORY_BYTES,
	};

	return hash_store_open(&options, error);
}
