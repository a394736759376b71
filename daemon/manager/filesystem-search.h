/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/filesystem.h"
#include "daemon/manager/detached-task.h"

/*
 * FilesystemSearch - finds the filesystems of paths without blocking the main loop.
 *
 * A path may lead to an unresponsive filesystem, so the search is a DetachedTask: when it is given up, its thread
 * is left to itself with all that it holds.
 *
 * At most FILESYSTEM_SEARCHES_MAX threads search for callers at a time, including those that were left to
 * themselves.  Callers may name any path as often as they like.
 *
 * Thread: main.
 */
typedef struct FilesystemSearch FilesystemSearch;

#define FILESYSTEM_SEARCHES_MAX 16

/* A search is given up after this time, before callers on the bus give up (25 s). */
#define FILESYSTEM_SEARCH_USEC (UINT64_C(20) * G_USEC_PER_SEC)

/*
 * The result of filesystems_find(): @found, whose elements may be stolen, or NULL and the error.  The search may be
 * freed in here.
 */
typedef void (*FilesystemSearchDone)(GPtrArray *found, const GError *error, void *data);

typedef enum {
	SEARCH_FOR_CALLER, /* a caller chose the paths */
	SEARCH_FOR_PASS,   /* one at a time per filesystem */
} SearchPurpose;

/* @paths are copied.  @done is called once, from the loop, unless the search is freed before. */
FilesystemSearch *filesystem_search_new(MainLoop *loop, SearchPurpose purpose, char *const *paths,
					FilesystemSearchDone done, void *data, GError **error);

/*
 * Give up the search, which is consumed.  Returns its task, to be freed, if the thread has not ended: @listener is
 * told when it does.  NULL: it has ended.
 */
DetachedTask *filesystem_search_leave(FilesystemSearch *search,
				      const DetachedTaskListener *listener);

/* Never blocks. */
void filesystem_search_free(FilesystemSearch *search);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilesystemSearch, filesystem_search_free)
