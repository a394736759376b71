/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/store-change.h"

#include "cli/message.h"

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

ExitStatus store_change_each(const char *directory, char *const *names,
			     bool (*change)(const StoreEntry *entry, void *data, GError **error),
			     void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(StoreList) list = store_list_open(directory, names, &error);
	bool in_use = false;
	const StoreEntry *entry;

	if (!list) {
		message_print("cannot read the stores: %s", error->message);
		return EXIT_STATUS_FAILED;
	}

	while ((entry = store_list_next(list))) {
		GError *failed = NULL;

		if (change(entry, data, &failed))
			continue;
		in_use |= g_error_matches(failed, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE);
		store_list_failed_take(list, failed);
	}

	if (store_list_finish(list))
		return EXIT_STATUS_DONE;
	return in_use ? EXIT_STATUS_IN_USE : EXIT_STATUS_FAILED;
}
