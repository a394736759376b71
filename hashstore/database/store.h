/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-error.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The open store: what it is about, and what whoever opens it says.  HashStore (hash-store.h) opens and closes it.
 *
 * Thread: as HashStore.
 */
typedef struct HashStore HashStore;

#define HASH_STORE_BLOCK_BYTES_MIN 512
#define HASH_STORE_BLOCK_BYTES_MAX 65536

/* What anchors are chosen by, at most. */
#define HASH_STORE_ANCHOR_BLOCKS_MAX  16
#define HASH_STORE_WINDOW_ANCHORS_MIN 2
#define HASH_STORE_WINDOW_ANCHORS_MAX 64

#define HASH_STORE_SECRET_BYTES    192
#define HASH_STORE_UUID_TEXT_BYTES 37

/* What a store is about.  Set when it is made, never changed. */
typedef struct {
	char uuid[HASH_STORE_UUID_TEXT_BYTES];
	char kind[8]; /* "btrfs" or "XFS" */
	uint32_t block_bytes;
	uint32_t anchor_blocks;                  /* k: sums in one anchor */
	uint32_t window_anchors;                 /* w: windows of which one is kept */
	uint8_t secret[HASH_STORE_SECRET_BYTES]; /* random; key of every digest */
} HashStoreAbout;

/*
 * HashStorePayer - whoever counts what threads make disks do, and has them wait when it was too much.
 */
typedef struct {
	void (*join)(void *data);  /* by a thread of the store, when it begins */
	void (*leave)(void *data); /* and before it ends */
	void (*pay)(void *data);   /* by any thread, often in long work: may wait */
	void *data;
} HashStorePayer;

typedef struct {
	const char *directory; /* made if absent, mode 0700 */
	const char *uuid;
	const char *kind;
	uint32_t block_bytes;
	uint32_t anchor_blocks; /* asked for; 0: as the store has it */
	uint32_t window_anchors;
	uint32_t new_anchor_blocks; /* of a store that is made, where nothing is asked for */
	uint32_t new_window_anchors;
	const uint8_t *secret;   /* of a store that is made; NULL: a new one */
	size_t memory_bytes;     /* limit for sorting anchors; at least 1 MiB */
	const atomic_bool *stop; /* ends long work early; outlives the store; NULL: never */
	/* What the calling thread made disks read so far; NULL: it is not counted. */
	bool (*count_reads)(uint64_t *ret_bytes);
	const HashStorePayer *payer; /* outlives the store; NULL: nobody */
	bool rebuild; /* move an existing file aside (UUID.sqlite.old-N) and begin anew */
} HashStoreOptions;

const HashStoreAbout *hash_store_about(const HashStore *store);

/* Whether objects may be extents: the filesystem is a btrfs. */
bool hash_store_has_extents(const HashStore *store);
const char *hash_store_path(const HashStore *store);

/* What threads that the store started made disks read, as HashStoreOptions.count_reads has it. */
uint64_t hash_store_thread_read_bytes(const HashStore *store);

/* Pays for what was done; false once the store was asked to stop.  Thread: any. */
bool hash_store_may_continue(const HashStore *store);

/* The id that the next object will get: every id given so far is below it. */
uint32_t hash_store_next_object(const HashStore *store);

/*
 * Settled means: matched with everything that is in the store.  Objects with an id below the
 * returned one are settled; 1 when none is.
 */
uint32_t hash_store_settled_below(const HashStore *store);
