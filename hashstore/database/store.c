/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/store.h"

#include "hashstore/database/store-state.h"

#include <string.h>

const HashStoreAbout *hash_store_about(const HashStore *store)
{
	return &store->about;
}

uint64_t hash_store_expected_anchors(const HashStore *store, uint64_t blocks)
{
	return blocks * 2 / (store->about.window_anchors + UINT64_C(1));
}

uint32_t hash_store_certain_blocks(const HashStore *store)
{
	return store->about.anchor_blocks + store->about.window_anchors - 1;
}

bool hash_store_has_extents(const HashStore *store)
{
	return strcmp(store->about.kind, "btrfs") == 0;
}

const char *hash_store_path(const HashStore *store)
{
	return store->path;
}

uint64_t hash_store_thread_read_bytes(const HashStore *store)
{
	return store->thread_read_bytes;
}

bool hash_store_may_continue(const HashStore *store)
{
	if (store->payer)
		store->payer->pay(store->payer->data);

	return !store->stop || !atomic_load_explicit(store->stop, memory_order_relaxed);
}

uint32_t hash_store_next_object(const HashStore *store)
{
	return store->counts.next_object;
}

uint32_t hash_store_settled_below(const HashStore *store)
{
	return store->counts.settled_below;
}
