/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/database.h"
#include "hashstore/database/statements.h"
#include "hashstore/database/store.h"

/*
 * The inside of a HashStore, for hashstore alone.
 */

/* Numbers that change with the store's content: kept in memory, saved by a commit. */
typedef struct {
	uint32_t next_object;
	uint32_t settled_below;
	uint64_t objects;
	/*
	 * Versions of objects that were dropped or replaced since segments were last looked through
	 * for what these left there; one that kept its id counts, too.
	 */
	uint64_t dead;
} HashStoreCounts;

struct HashStore {
	/* Set at creation, never changed. */
	char *path;
	int lock_fd; /* -1 when opened to read */
	size_t memory_bytes;
	const atomic_bool *stop;                  /* or NULL */
	bool (*count_reads)(uint64_t *ret_bytes); /* or NULL */
	const HashStorePayer *payer;              /* or NULL */
	HashStoreAbout about;

	/* Thread: the owner's. */
	Database *database;
	bool at_rest; /* database reads the file as nobody changes it: see StoreConnection */
	unsigned snapshots_at_rest; /* those taken at rest that are still open */
	sqlite3_stmt *statements[N_STATEMENTS];
	bool in_transaction;
	int64_t reads_since_usec; /* when the transaction of reads began; 0: there is none */
	bool failed; /* a change failed, perhaps half made: nothing more may be committed */
	HashStoreCounts counts;
	HashStoreCounts saved_counts;
	uint64_t halves;        /* rows of half, committed or not */
	uint64_t differed_rows; /* of differed, committed or not, once they are counted */
	bool differed_known;
	uint64_t pinned_rows; /* of pinned, likewise */
	bool pinned_known;
	uint64_t read_sums_rows; /* of read_sums, likewise */
	bool read_sums_known;
	uint64_t thread_read_bytes;
	uint32_t n_renewed; /* ids given by hash_store_renew() since all was settled */

	/* Anchors that lie in no segment yet; NULL while there are none. */
	struct Anchor *anchors;
	size_t n_anchors;

	/* The row that is being written, kept for its memory. */
	GByteArray *record;

	/* The last answer of a find. */
	GByteArray *found_bytes;
	struct Object *found_object;
	struct DirectoryName *found_directory;
};
