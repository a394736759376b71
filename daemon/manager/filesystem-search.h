/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/filesystem.h"
#include "daemon/manager/detached-task.h"

/*
 * FilesystemSearch - finds the filesystems of paths without the main loop waiting for them.
 *
 * A path may lead to where nobody answers, so this is an DetachedTask: when the search is given up, its thread is left
 * to itself, and what it holds goes with it.
 *
 * At most FILESYSTEM_SEARCHES_MAX threads search at a time for callers, who may name any path as often as they
 * like, those that were left to themselves among them.
 *
 * Thread: main.
 */
typedef struct FilesystemSearch FilesystemSearch;

#define FILESYSTEM_SEARCHES_MAX 16

/* A search is given up after that, which is before callers on the bus give up (25 s). */
#define FILESYSTEM_SEARCH_USEC (UINT64_C(20) * G_USEC_PER_SEC)

/*
 * The result of filesystems_find(): @found, of which elements may be stolen, or NULL and the error.  The search
 * may be freed in here.
 */
typedef void (*FilesystemSearchDone)(GPtrArray *found, const GError *error, void *data);

typedef enum {
	SEARCH_FOR_CALLER, /* who chose the paths */
	SEARCH_FOR_PASS,   /* of which there is one at a time in each filesystem */
} SearchPurpose;

/* @paths are copied.  @done is called once, from the loop, unless the search is freed before. */
FilesystemSearch *filesystem_search_new(MainLoop *loop, SearchPurpose purpose, char *const *paths,
					FilesystemSearchDone done, void *data, GError **error);

/*
 * Give the search up, which is consumed, and know when its thread has ended, which @listener is told: returns it
 * to be freed; NULL: it has ended already.
 */
DetachedTask *filesystem_search_leave(FilesystemSearch *search,
				      const DetachedTaskListener *listener);

/* Never waits. */
void filesystem_search_free(FilesystemSearch *search);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilesystemSearch, filesystem_search_free)
