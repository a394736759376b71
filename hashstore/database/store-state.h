/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/database.h"
#include "hashstore/database/statements.h"
#include "hashstore/database/store.h"

/* StoreState - the fields of a HashStore, for hashstore alone. */

/* Numbers that change with the store's contents: kept in memory, saved by a commit. */
typedef struct {
	uint32_t next_object;
	uint32_t settled_below;
	uint64_t objects;
	/*
	 * Versions of objects that were dropped or replaced since segments were last searched for dead
	 * entries.  A version that kept its id counts, too.
	 */
	uint64_t dead;
} HashStoreCounts;

struct HashStore {
	/* Set at creation, never changed. */
	char *path;
	int lock_fd; /* -1 when opened to read */
	size_t memory_bytes;
	const atomic_bool *stop;       /* or NULL */
	uint64_t (*count_reads)(void); /* or NULL */
	const HashStorePayer *payer;   /* or NULL */
	HashStoreAbout about;

	/* Thread: the owner's. */
	Database *database;
	bool at_rest;               /* database is read as if immutable: see StoreConnection */
	unsigned snapshots_at_rest; /* open snapshots that were taken at rest */
	sqlite3_stmt *statements[N_STATEMENTS];
	bool in_transaction;
	int64_t reads_since_usec; /* start of the transaction of reads; 0: none */
	bool failed; /* a change failed, perhaps half made: nothing may be committed any more */
	HashStoreCounts counts;
	HashStoreCounts saved_counts;
	bool has_id_index; /* see ObjectPlaces */
	uint64_t halves;   /* rows of half, committed or not */
	RowCount differed;
	RowCount pinned;
	RowCount read_sums;
	uint64_t thread_read_bytes;
	uint32_t n_renewed;       /* ids assigned by hash_store_renew() since all was settled */
	uint64_t renewed_anchors; /* of them: copies, whose originals stay in their segments */

	/* Anchors that are in no segment yet; NULL if there are none. */
	struct Anchor *anchors;
	size_t n_anchors;

	/* The notes of the last walk over all groups; or NULL. */
	struct WholeNotes *whole_notes;

	/* The buffer for a row to write, kept for its memory. */
	GByteArray *record;

	/* The result of the last find. */
	GByteArray *found_bytes;
	struct Object *found_object;
	struct DirectoryName *found_directory;
};
