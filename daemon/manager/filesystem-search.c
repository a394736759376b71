/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/filesystem-search.h"

#include <stdatomic.h>

/* The paths, and the result. */
typedef struct {
	SearchPurpose purpose;
	char **paths;
	GPtrArray *found;
	GError *error;
} SearchWork;

struct FilesystemSearch {
	DetachedTask *task;
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

static void search_work_free(void *data)
{
	SearchWork *work = data;

	g_strfreev(work->paths);
	g_clear_pointer(&work->found, g_ptr_array_unref);
	g_clear_error(&work->error);
	g_free(work);
}

static void search_work(void *data)
{
	SearchWork *work = data;

	work->found = filesystems_find(work->paths, &work->error);
	uncount_thread(work->purpose);
}

static const DetachedTaskKind search_kind = {
	.thread_name = "search",
	.work = search_work,
	.free_work_data = search_work_free,
	.patience_usec = FILESYSTEM_SEARCH_USEC,
};

static void on_done(void *data)
{
	FilesystemSearch *search = data;
	SearchWork *work = detached_task_work_data(search->task);
	g_autoptr(GPtrArray) found = g_steal_pointer(&work->found);
	g_autoptr(GError) error = g_steal_pointer(&work->error);

	if (search->done)
		search->done(found, error, search->data);
}

static void on_late(void *data)
{
	FilesystemSearch *search = data;
	FilesystemSearchDone done = search->done;
	g_autoptr(GError) error =
		g_error_new(FILESYSTEM_ERROR, FILESYSTEM_ERROR_PATH,
			    "cannot look up paths within %d seconds: their filesystem hangs",
			    (int)(FILESYSTEM_SEARCH_USEC / G_USEC_PER_SEC));

	search->done = NULL;
	done(NULL, error, search->data);
}

FilesystemSearch *filesystem_search_new(MainLoop *loop, SearchPurpose purpose, char *const *paths,
					FilesystemSearchDone done, void *data, GError **error)
{
	g_autoptr(FilesystemSearch) search = g_new0(FilesystemSearch, 1);
	const DetachedTaskListener listener = { on_done, on_late, search };
	SearchWork *work;

	if (!count_thread(purpose)) {
		g_set_error_literal(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
				    "too many lookups of paths wait for a filesystem that hangs");
		return NULL;
	}

	search->done = done;
	search->data = data;
	work = g_new0(SearchWork, 1);
	work->purpose = purpose;
	work->paths = g_strdupv((char **)paths);
	search->task = detached_task_new(loop, &search_kind, work, &listener, error);
	if (!search->task) {
		uncount_thread(purpose);
		return NULL;
	}

	return g_steal_pointer(&search);
}

DetachedTask *filesystem_search_leave(FilesystemSearch *search,
				      const DetachedTaskListener *listener)
{
	g_autoptr(DetachedTask) task = g_steal_pointer(&search->task);

	filesystem_search_free(search);
	if (detached_task_is_done(task))
		return NULL;

	detached_task_set_listener(task, listener);
	return g_steal_pointer(&task);
}

void filesystem_search_free(FilesystemSearch *search)
{
	if (!search)
		return;

	detached_task_free(search->task);
	g_free(search);
}
