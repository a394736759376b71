/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * StoreSize - what a store takes on the disk, part by part, and for how much data.
 *
 * Pages of the file are counted one by one, all of which are read; where SQLite was built without
 * its table of pages (dbstat), only rows are.
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
	STORE_PART_FREE,   /* pages that are used anew by the next pass */
	N_STORE_PARTS,
} StorePart;

typedef struct {
	uint64_t rows[N_STORE_PARTS];  /* of anchors: the anchors; none of what is free */
	uint64_t bytes[N_STORE_PARTS]; /* if has_bytes */
	bool has_bytes;
	uint64_t wal_bytes;  /* that wait beside the file */
	uint64_t data_bytes; /* of all objects: of files their size, of extents that on the disk */
} StoreSize;

/* "objects" and so on. */
const char *store_part_name(StorePart part);

/* Reads all of the store. */
bool hash_store_size(HashStore *store, StoreSize *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;
