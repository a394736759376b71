/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/duplicate-stores.h"

#include "cli/message.h"
#include "daemon/filesystem-lock.h"

typedef struct {
	const DuplicateLimits *limits;
	bool (*look)(DuplicateFinder *finder, HashStore *store, void *data, GError **error);
	void *data;
	uint64_t n_stale;
} Search;

static bool search_store(Search *search, HashStore *store, GError **error)
{
	g_autoptr(DuplicateFinder) finder = duplicate_finder_open(store, search->limits, error);

	if (!finder || !search->look(finder, store, search->data, error))
		return false;

	search->n_stale += duplicate_finder_stale(finder);
	return true;
}

ExitStatus duplicate_stores_each(const char *directory, char *const *names,
				 const DuplicateLimits *limits,
				 bool (*look)(DuplicateFinder *finder, HashStore *store, void *data,
					      GError **error),
				 void *data, uint64_t *ret_stale)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(StoreList) list = store_list_open(directory, names, &error);
	Search search = { limits, look, data, 0 };
	ExitStatus status = EXIT_STATUS_DONE;
	const StoreEntry *entry;

	if (!list) {
		message_print("cannot read the stores: %s", error->message);
		return EXIT_STATUS_FAILED;
	}
	while ((entry = store_list_next(list))) {
		GError *cause = NULL;

		if (search_store(&search, entry->store, &cause))
			continue;
		if (!g_error_matches(cause, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE)) {
			store_list_failed_take(list, cause);
			continue;
		}
		message_print("%s: which files are equal there cannot be asked meanwhile",
			      cause->message);
		g_error_free(cause);
		status = EXIT_STATUS_IN_USE;
	}

	store_list_note_none(list);
	*ret_stale += search.n_stale;
	return store_list_finish(list) ? status : EXIT_STATUS_FAILED;
}
