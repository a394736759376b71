/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/filesystem-search.h"

#include <stdatomic.h>

/* What is looked for, and what was found. */
typedef struct {
	SearchPurpose purpose;
	char **paths;
	GPtrArray *found;
	GError *error;
} Quest;

struct FilesystemSearch {
	DetachedTask *errand;
	FilesystemSearchDone done;
	void *data;
};

/* Threads that search for callers. */
static atomic_uint n_threads;

static bool count_thread(SearchPurpose purpose)
{
	if (purpose != SEARCH_FOR_CALLER ||
	    atomic_fetch_add(&n_threads, 1) < FILESYSTEM_SEARCHES_MAX)
		return true;

	atomic_fetch_sub(&n_threads, 1);
	return false;
}

static void uncount_thread(SearchPurpose purpose)
{
	if (purpose == SEARCH_FOR_CALLER)
		atomic_fetch_sub(&n_threads, 1);
}

static void quest_free(void *data)
{
	Quest *quest = data;

	g_strfreev(quest->paths);
	g_clear_pointer(&quest->found, g_ptr_array_unref);
	g_clear_error(&quest->error);
	g_free(quest);
}

static void search_work(void *data)
{
	Quest *quest = data;

	quest->found = filesystems_find(quest->paths, &quest->error);
	uncount_thread(quest->purpose);
}

static const DetachedTaskKind search_kind = {
	.thread_name = "search",
	.work = search_work,
	.free_work_data = quest_free,
	.patience_usec = FILESYSTEM_SEARCH_USEC,
};

static void on_done(void *data)
{
	FilesystemSearch *search = data;
	Quest *quest = detached_task_work_data(search->errand);
	g_autoptr(GPtrArray) found = g_steal_pointer(&quest->found);
	g_autoptr(GError) error = g_steal_pointer(&quest->error);

	if (search->done)
		search->done(found, error, search->data);
}

static void on_late(void *data)
{
	FilesystemSearch *search = data;
	FilesystemSearchDone done = search->done;
	g_autoptr(GError) error = g_error_new(
		FILESYSTEM_ERROR, FILESYSTEM_ERROR_PATH,
		"paths could not be looked up within %d seconds: where they lead to hangs",
		(int)(FILESYSTEM_SEARCH_USEC / G_USEC_PER_SEC));

	search->done = NULL;
	done(NULL, error, search->data);
}

FilesystemSearch *filesystem_search_new(MainLoop *loop, SearchPurpose purpose, char *const *paths,
					FilesystemSearchDone done, void *data, GError **error)
{
	g_autoptr(FilesystemSearch) search = g_new0(FilesystemSearch, 1);
	const DetachedTaskListener listener = { on_done, on_late, search };
	Quest *quest;

	if (!count_thread(purpose)) {
		g_set_error_literal(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
				    "too many paths are looked up that lead to where it hangs");
		return NULL;
	}

	search->done = done;
	search->data = data;
	quest = g_new0(Quest, 1);
	quest->purpose = purpose;
	quest->paths = g_strdupv((char **)paths);
	search->errand = detached_task_new(loop, &search_kind, quest, &listener, error);
	if (!search->errand) {
		uncount_thread(purpose);
		return NULL;
	}

	return g_steal_pointer(&search);
}

DetachedTask *filesystem_search_leave(FilesystemSearch *search,
				      const DetachedTaskListener *listener)
{
	g_autoptr(DetachedTask) errand = g_steal_pointer(&search->errand);

	filesystem_search_free(search);
	if (detached_task_is_done(errand))
		return NULL;

	detached_task_set_listener(errand, listener);
	return g_steal_pointer(&errand);
}

void filesystem_search_free(FilesystemSearch *search)
{
	if (!search)
		return;

	detached_task_free(search->errand);
	g_free(search);
}
