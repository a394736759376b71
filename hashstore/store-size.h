/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * StoreSize - the size of a store on the disk, part by part, and the amount of data it describes.
 *
 * All pages of the file are read and counted.  If SQLite was built without its table of pages (dbstat), only rows
 * are counted.
 *
 * Thread: the owner's of the store.
 */
typedef enum {
	STORE_PART_OBJECTS,
	STORE_PART_ANCHORS,
	STORE_PART_NAMES,
	STORE_PART_PINNED,
	STORE_PART_DIFFERED,
	STORE_PART_HISTORY,
	STORE_PART_OTHERS, /* files read by half, notes, the schema */
	STORE_PART_FREE,   /* pages that the next pass reuses */
	N_STORE_PARTS,
} StorePart;

typedef struct {
	uint64_t rows[N_STORE_PARTS];  /* for anchors, the number of anchors; 0 for free pages */
	uint64_t bytes[N_STORE_PARTS]; /* if has_bytes */
	bool has_bytes;
	uint64_t wal_bytes;  /* size of the WAL */
	uint64_t data_bytes; /* of all objects: sizes of files, sizes of extents on the disk */
} StoreSize;

/* "objects" and so on. */
const char *store_part_name(StorePart part);

/* Reads all of the store. */
bool hash_store_size(HashStore *store, StoreSize *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The additional space for hash_store_vacuum(): a copy, and another in the WAL.  SQLite puts the first copy into
 * $SQLITE_TMPDIR.
 */
bool hash_store_vacuum_needs(HashStore *store, uint64_t *ret_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Rewrite the store without free pages, so that its file is as small as possible.  The next passes let it grow
 * again.  @store is open for writing and has no open readers.  Readers of other processes do not block it, but
 * the file may keep its size until the last of them has ended.
 */
bool hash_store_vacuum(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
