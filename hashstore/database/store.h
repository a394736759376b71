/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-error.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * HashStore - an open store: its properties, and the options of its user.  hash-store.h opens and closes it.
 *
 * Thread: as HashStore.
 */
typedef struct HashStore HashStore;

#define HASH_STORE_BLOCK_BYTES_MIN 512
#define HASH_STORE_BLOCK_BYTES_MAX 65536

/* Limits of the parameters of anchors. */
#define HASH_STORE_ANCHOR_BLOCKS_MAX  16
#define HASH_STORE_WINDOW_ANCHORS_MIN 2
#define HASH_STORE_WINDOW_ANCHORS_MAX 64

#define HASH_STORE_SECRET_BYTES    192
#define HASH_STORE_UUID_TEXT_BYTES 37
#define HASH_STORE_KEY_TEXT_BYTES  17 /* of the id of a key: 16 hexadecimal digits and a NUL */

/* The properties of a store, set when it is made. */
typedef struct {
	char uuid[HASH_STORE_UUID_TEXT_BYTES];
	char kind[8]; /* "btrfs" or "XFS" */
	uint32_t block_bytes;
	uint32_t anchor_blocks;                  /* k: sums in one anchor */
	uint32_t window_anchors;                 /* w: one anchor of so many windows is kept */
	uint8_t secret[HASH_STORE_SECRET_BYTES]; /* random; key of every digest */
	/* The id of the fleet's key that is the secret; "": the secret is the store's own. */
	char fleet_key[HASH_STORE_KEY_TEXT_BYTES];
	/* Of a store with a fleet's key: a random number that no store made later has. */
	uint64_t number;
} HashStoreAbout;

/* HashStorePayer - counts the disk I/O of threads, and makes them wait after too much of it. */
typedef struct {
	void (*join)(void *data);  /* called by a thread of the store when it begins */
	void (*leave)(void *data); /* and before it ends */
	void (*pay)(void *data);   /* called by any thread, often in long work; may wait */
	void *data;
} HashStorePayer;

typedef struct {
	const char *directory; /* made with mode 0700 if absent */
	const char *uuid;
	const char *kind;
	uint32_t block_bytes;
	uint32_t anchor_blocks; /* wanted; 0: that of the store */
	uint32_t window_anchors;
	uint32_t new_anchor_blocks; /* for a new store, if none is wanted */
	uint32_t new_window_anchors;
	const uint8_t *secret; /* for a new store; NULL: a random one */
	const char *fleet_key; /* wanted, and that of @secret; "": none; NULL: that of the store */
	size_t memory_bytes;   /* limit for sorting anchors; at least 1 MiB */
	const atomic_bool *stop; /* ends long work early; outlives the store; NULL: never */
	/* Bytes that the calling thread made disks read so far; NULL: not counted. */
	uint64_t (*count_reads)(void);
	const HashStorePayer *payer; /* outlives the store; NULL: none */
	bool rebuild; /* move an existing file aside (UUID.sqlite.old-N) and begin anew */
} HashStoreOptions;

const HashStoreAbout *hash_store_about(const HashStore *store);

/* The anchors that so many blocks of data have on average: winnowing keeps 2 of w + 1 positions. */
uint64_t hash_store_expected_anchors(const HashStore *store, uint64_t blocks);

/* Every equal range of at least so many blocks has an anchor (anchor-shape). */
uint32_t hash_store_certain_blocks(const HashStore *store);

/* Objects may be extents: the filesystem is btrfs. */
bool hash_store_has_extents(const HashStore *store);
const char *hash_store_path(const HashStore *store);

/* Bytes that threads of the store made disks read, by HashStoreOptions.count_reads. */
uint64_t hash_store_thread_read_bytes(const HashStore *store);

/* Calls the payer.  False after a request to stop.  Thread: any. */
bool hash_store_may_continue(const HashStore *store);

/* The id of the next object: all ids assigned so far are below it. */
uint32_t hash_store_next_object(const HashStore *store);

/*
 * Settled objects were matched with the whole store.  Objects below the returned id are settled; 1: none is.
 */
uint32_t hash_store_settled_below(const HashStore *store);
