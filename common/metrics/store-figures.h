/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/history.h"

/*
 * StoreFigures - what the metrics show of one store.
 *
 * Thread: one at a time.
 */
typedef struct {
	char *reason;
	uint64_t bytes;
} SkippedBytes;

typedef struct {
	char *uuid;
	char *trouble; /* why the store cannot be read, for people; NULL: it can */
	char *kind;    /* "btrfs" or "XFS"; NULL in trouble, in which no figure below is known */
	uint64_t file_bytes;
	PassTotals totals;
	PassRecord last; /* all zero: none */
	bool has_last;
	int64_t success_usec; /* when the last complete pass ended, since 1970; 0: none */
	int64_t drift_bytes;  /* of the last pass that was compared with the filesystem's count */
	bool has_drift;
	uint64_t pinned_bytes;
	uint64_t deferred_bytes;
	GArray *skipped; /* SkippedBytes, by the last pass that found something */

	/* Size and time of the database and its -wal when they were read. */
	int64_t stamp[4];
} StoreFigures;

/* An empty array of StoreFigures for store_figures_read(). */
GPtrArray *store_figures_new(void);

/*
 * Bring @all up to date: read the stores of @directory that changed since the last call, and drop those that are
 * gone.  A store that is not finished yet, or awaits its upgrade, is left out.  An error: the directory cannot be
 * read.
 */
bool store_figures_read(GPtrArray *all, const char *directory, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
