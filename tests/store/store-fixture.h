/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * StoreFixture - a directory of its own for a test, and the options of a store in it.
 *
 * Thread: main.
 */
typedef struct {
	char *directory;
	char *path; /* the file of the store */
	HashStoreOptions options;
} StoreFixture;

#define FIXTURE_UUID "0d8a5e5c-36c5-4d7b-9c50-3f0f0a3c8a01"

StoreFixture *store_fixture_new(void);
void store_fixture_free(StoreFixture *fixture);

/* Open the store, which must succeed. */
HashStore *store_fixture_open(const StoreFixture *fixture);

/* Settle all of it, as a pass does that found each object alive, and commit. */
void store_fixture_settle(HashStore *store);

/* Put 1,000 objects of 10 anchors into it, settle them, and close it. */
void store_fixture_fill(const StoreFixture *fixture);

/*
 * Make it a store of btrfs with something in each table, and close it.  All but the last extent are settled: extents of
 * FIXTURE_EXTENT_BYTES from that address on, by twos equal, and files 0 to 3 of subvolume 5, the first read by half.
 */
#define FIXTURE_EXTENT_BYTES (UINT64_C(1) << 20)
#define FIXTURE_EXTENTS      30
#define FIXTURE_FILES        UINT64_C(256) /* inode of the first */
void store_fixture_fill_tables(const StoreFixture *fixture);

/* Opening it for writing must fail with @code and a message that holds @text. */
void store_fixture_refused(const StoreFixture *fixture, HashStoreError code, const char *text);

/* Something that the store did must have succeeded. */
void check_done(bool done, GError **error);

/* Run SQL on the file, as another program would. */
void store_fixture_sql(const char *path, const char *sql);

/* The first value of the only row that SQL finds in the file. */
char *store_fixture_ask(const char *path, const char *sql);

/* Make the store one of version @version, at least 13. */
void store_fixture_set_back(const char *path, int version);

/* The name, size, mtime and content of the file as one text, for comparison. */
char *store_fixture_state(const char *path);

/* The same of all files in the directory. */
char *store_fixture_directory_state(const StoreFixture *fixture);

/* Every object is live; @data is ignored. */
bool store_fixture_all_live(uint32_t object, void *data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreFixture, store_fixture_free)
