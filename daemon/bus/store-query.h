/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdatomic.h>

/*
 * StoreQuery - the record of passes in a store, as lines of JSON: docs/org.dedupd1.xml explains the fields.
 *
 * Reads a disk.  Thread: any but main.
 */
typedef enum {
	STORE_QUERY_HISTORY,        /* the last passes, newest first */
	STORE_QUERY_SKIPPED,        /* the skips of the last pass, with names of files */
	STORE_QUERY_SKIPPED_TOTALS, /* the same without names */
} StoreQueryKind;

/* Limit of the passes reported. */
#define STORE_QUERY_PASSES_MAX 1000

/*
 * The text, to be freed; empty if the filesystem has no store in @directory; NULL: it could not be read.  Ends
 * early when @stop is raised.
 */
char *store_query_run(const char *directory, const char *uuid, StoreQueryKind kind,
		      const atomic_bool *stop, GError **error);
