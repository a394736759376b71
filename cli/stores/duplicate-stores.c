/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/duplicate-stores.h"

#include "cli/terminal/message.h"
#include "common/mounts/filesystem-lock.h"

typedef struct {
	const DuplicateLimits *limits;
	bool (*look)(DuplicateFinder *finder, HashStore *store, void *data, GError **error);
	void *data;
	DuplicatesLeftOut *left_out;
} Search;

static bool search_store(Search *search, HashStore *store, GError **error)
{
	g_autoptr(DuplicateFinder) finder = duplicate_finder_open(store, search->limits, error);

	if (!finder || !search->look(finder, store, search->data, error))
		return false;

	duplicate_finder_add_left_out(finder, search->left_out);
	return true;
}

ExitStatus duplicate_stores_each(const char *directory, char *const *names,
				 const DuplicateLimits *limits,
				 bool (*look)(DuplicateFinder *finder, HashStore *store, void *data,
					      GError **error),
				 void *data, DuplicatesLeftOut *left_out)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(StoreList) list = store_list_open(directory, names, &error);
	Search search = { limits, look, data, left_out };
	ExitStatus status = EXIT_STATUS_DONE;
	const StoreEntry *entry;

	if (!list)
		return message_fail(EXIT_STATUS_FAILED, "cannot read the stores: %s",
				    error->message);
	while ((entry = store_list_next(list))) {
		GError *cause = NULL;

		if (search_store(&search, entry->store, &cause))
			continue;
		if (!g_error_matches(cause, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE)) {
			store_list_failed_take(list, cause);
			continue;
		}
		message_print("%s: dedupctl cannot ask for equal files there until it ends",
			      cause->message);
		g_error_free(cause);
		status = EXIT_STATUS_IN_USE;
	}

	store_list_note_none(list);
	return store_list_finish(list) ? status : EXIT_STATUS_FAILED;
}

static void say(uint64_t n, const char *one, const char *several)
{
	if (n == 1)
		message_print("%s", one);
	else if (n > 1)
		message_print("%" G_GUINT64_FORMAT " %s", n, several);
}

void duplicate_stores_say_left_out(const DuplicatesLeftOut *left_out)
{
	say(left_out->stale, "a file is left out: it changed since it was read, or is gone",
	    "files are left out: they changed since they were read, or are gone");
	say(left_out->fresh,
	    "a file is left out: it was written shortly before a pass read it, and the next one "
	    "reads it again",
	    "files are left out: they were written shortly before a pass read them, and the next "
	    "one reads them again");
	say(left_out->gone,
	    "an extent that a pass knew is gone: that pass shared its data, or its files changed",
	    "extents that a pass knew are gone: that pass shared their data, or their files "
	    "changed");
}
