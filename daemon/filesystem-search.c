/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/filesystem-search.h"

#include "kernel-ioctl/fd.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

/* What the search and its thread share, whichever of them is longer there. */
typedef struct {
	/* Set at creation, never changed. */
	char **paths;
	int finished_fd;

	/* Thread: the search's, until has_ended. */
	GPtrArray *found;
	GError *error;

	atomic_bool has_ended;
	atomic_uint n_holders; /* not of GLib, whose counts ThreadSanitizer does not see */
} Quest;

struct FilesystemSearch {
	Quest *quest;
	FilesystemSearchDone done;
	void *data;
	sd_event_source *finished;
	sd_event_source *too_late;
};

/* Threads that search. */
static atomic_uint n_threads;

static void quest_unref(Quest *quest)
{
	if (atomic_fetch_sub(&quest->n_holders, 1) > 1)
		return;

	g_strfreev(quest->paths);
	fd_close(&quest->finished_fd);
	g_clear_pointer(&quest->found, g_ptr_array_unref);
	g_clear_error(&quest->error);
	g_free(quest);
}

static void *search_main(void *data)
{
	Quest *quest = data;

	quest->found = filesystems_find(quest->paths, &quest->error);
	atomic_fetch_sub(&n_threads, 1);
	atomic_store(&quest->has_ended, true);
	eventfd_write(quest->finished_fd, 1);
	quest_unref(quest);
	return NULL;
}

static int on_finished(sd_event_source *source, int fd, uint32_t events, void *data)
{
	FilesystemSearch *search = data;
	g_autoptr(GPtrArray) found = NULL;
	g_autoptr(GError) error = NULL;
	Quest *quest = search->quest;

	if (!atomic_load(&quest->has_ended))
		return 0;

	search->finished = sd_event_source_unref(search->finished);
	search->too_late = sd_event_source_unref(search->too_late);
	found = g_steal_pointer(&quest->found);
	error = g_steal_pointer(&quest->error);
	search->done(found, error, search->data);
	return 0;
}

static int on_too_late(sd_event_source *source, uint64_t usec, void *data)
{
	FilesystemSearch *search = data;
	g_autoptr(GError) error = g_error_new(
		FILESYSTEM_ERROR, FILESYSTEM_ERROR_PATH,
		"paths could not be looked up within %d seconds: where they lead to hangs",
		(int)(FILESYSTEM_SEARCH_USEC / G_USEC_PER_SEC));

	search->finished = sd_event_source_unref(search->finished);
	search->too_late = sd_event_source_unref(search->too_late);
	search->done(NULL, error, search->data);
	return 0;
}

static int add_sources(FilesystemSearch *search, sd_event *event)
{
	int failed;

	if (search->quest->finished_fd < 0)
		return -errno;

	failed = sd_event_add_io(event, &search->finished, search->quest->finished_fd, EPOLLIN,
				 on_finished, search);
	if (failed >= 0)
		failed = sd_event_add_time_relative(event, &search->too_late, CLOCK_MONOTONIC,
						    FILESYSTEM_SEARCH_USEC, 0, on_too_late, search);
	return failed;
}

static bool start_thread(FilesystemSearch *search, GError **error)
{
	GThread *thread;

	if (atomic_fetch_add(&n_threads, 1) >= FILESYSTEM_SEARCHES_MAX) {
		atomic_fetch_sub(&n_threads, 1);
		g_set_error_literal(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
				    "too many paths are looked up that lead to where it hangs");
		return false;
	}

	atomic_fetch_add(&search->quest->n_holders, 1);
	thread = g_thread_try_new("search", search_main, search->quest, error);
	if (!thread) {
		atomic_fetch_sub(&n_threads, 1);
		quest_unref(search->quest);
		return false;
	}

	g_thread_unref(thread);
	return true;
}

FilesystemSearch *filesystem_search_new(sd_event *event, char *const *paths,
					FilesystemSearchDone done, void *data, GError **error)
{
	g_autoptr(FilesystemSearch) search = g_new0(FilesystemSearch, 1);
	int failed;

	search->done = done;
	search->data = data;
	search->quest = g_new0(Quest, 1);
	atomic_store(&search->quest->n_holders, 1);
	search->quest->paths = g_strdupv((char **)paths);
	search->quest->finished_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	failed = add_sources(search, event);
	if (failed < 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-failed),
			    "cannot wait for a search: %s", g_strerror(-failed));
		return NULL;
	}

	return start_thread(search, error) ? g_steal_pointer(&search) : NULL;
}

void filesystem_search_free(FilesystemSearch *search)
{
	if (!search)
		return;

	sd_event_source_unref(search->finished);
	sd_event_source_unref(search->too_late);
	quest_unref(search->quest);
	g_free(search);
}
