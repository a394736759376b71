/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchor.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * HashStore - what dedupd remembers of one filesystem, in one SQLite file.
 *
 * The file is DIRECTORY/UUID.sqlite, mode 0600, in WAL mode with synchronous=NORMAL.  A store
 * opened for writing also holds DIRECTORY/UUID.lock (flock), so that a second writer is refused;
 * readers are never in the way.  It is a cache: losing it costs a new fingerprinting.
 *
 * A write transaction begins by itself with the first change and ends with hash_store_commit().
 * A pass that changes nothing opens none, so it writes nothing: every file of the directory stays as
 * it is, SQLite's -shm too.  What reads the store (cursors, groups) must be closed before it.
 *
 * Long work (merging segments, walking groups, checkpoints) ends early once the flag that asks to
 * stop is raised, which is for good: see HashStoreOptions.  That is no error.
 *
 * Thread: the filesystem's worker; each thread that reads opens a store of its own.
 */
typedef struct HashStore HashStore;

#define HASH_STORE_ERROR (hash_store_error_quark())
GQuark hash_store_error_quark(void);

typedef enum {
	HASH_STORE_ERROR_ABSENT,  /* no such store */
	HASH_STORE_ERROR_FOREIGN, /* the file is not a store of dedupd, or of another filesystem */
	HASH_STORE_ERROR_NEWER,   /* written by a newer dedupd */
	HASH_STORE_ERROR_CORRUPT, /* damaged: --rebuild moves it aside */
	HASH_STORE_ERROR_IN_USE,  /* another process writes it */
	HASH_STORE_ERROR_FULL,    /* no space left, or no permission to write */
	HASH_STORE_ERROR_FAILED,
} HashStoreError;

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

/*
 * Open for writing, made if absent.  A file that is foreign, newer, corrupt, or was made with another
 * block size, or other k or w than are asked for, is refused by name and left as it is, unless
 * @options->rebuild.
 */
HashStore *hash_store_open(const HashStoreOptions *options, GError **error);

/* Open the store in the file @path for reading only; never changes or makes a file. */
HashStore *hash_store_open_to_read(const char *path, GError **error);

/* Delete the store of a filesystem, unless another process writes it: an error. */
bool hash_store_delete(const char *directory, const char *uuid, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* What was not committed is lost.  Accepts NULL. */
void hash_store_close(HashStore *store);

const HashStoreAbout *hash_store_about(const HashStore *store);

/* Whether objects may be extents: the filesystem is a btrfs. */
bool hash_store_has_extents(const HashStore *store);
const char *hash_store_path(const HashStore *store);

/* Size of the database file and its WAL on disk. */
uint64_t hash_store_file_bytes(const HashStore *store);

/*
 * Size of what the store holds, without pages that are free: what is not committed yet is in it, and
 * anchors in memory by what they will take.  0 where SQLite does not say.
 */
uint64_t hash_store_content_bytes(HashStore *store);

/* What threads that the store started made disks read, as HashStoreOptions.count_reads has it. */
uint64_t hash_store_thread_read_bytes(const HashStore *store);

/*
 * Keep all changes so far: sorts and packs the anchors held in memory into a segment, and commits.
 * Then merges segments when there are too many, unless asked to stop.  Does nothing when nothing
 * changed.
 */
bool hash_store_commit(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Begin the write transaction now, as the first change would.  Many look-ups take half the time in one: each
 * alone locks the store, and unlocks it.  For a pass that has changed the store, or is going to.
 */
bool hash_store_begin(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Have the look-ups that follow read in one transaction: else each locks the store, and unlocks it.  To be called
 * before each of many, of a store that was opened to read: the transaction is renewed ten times a second, so that
 * the WAL can be put into the database.  hash_store_end_reads() ends it.
 */
bool hash_store_read_on(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void hash_store_end_reads(HashStore *store);

/*
 * An id for an object that is about to be fingerprinted: larger than every id given before, also by
 * passes that were cut short after they had committed something.
 */
bool hash_store_new_object(HashStore *store, uint32_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Pays for what was done; false once the store was asked to stop.  Thread: any. */
bool hash_store_may_continue(const HashStore *store);

/* The id that the next object will get: every id given so far is below it. */
uint32_t hash_store_next_object(const HashStore *store);

/*
 * Settled means: matched with everything that is in the store.  Objects with an id below the
 * returned one are settled; 1 when none is.
 */
uint32_t hash_store_settled_below(const HashStore *store);

/*
 * Called when a pass got through to its end: commits, then settles all objects and merges the
 * segments as the size rule asks (at most 8 stay), entries of objects for which @is_live says false
 * falling out.  That is left to the next commit.
 *
 * Asked to stop, it settles nothing and leaves the segments as they were:
 * hash_store_settled_below() tells.
 */
bool hash_store_settle(HashStore *store, bool (*is_live)(uint32_t object, void *data), void *data,
		       GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Begin again with matching: nothing is settled, all fingerprints stay.  For a changed policy that
 * may find more.  Does not commit.
 */
bool hash_store_unsettle(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Forget all that is known of the filesystem, notes included, as in a new store; the history of passes and the
 * secret stay, and ids go on.  Does not commit.
 */
bool hash_store_forget_all(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Small named values of the engine, for instance the policy under which all was settled. */
bool hash_store_get_note(HashStore *store, const char *name, char **ret_text, GError **error)
	G_GNUC_WARN_UNUSED_RESULT; /* *ret_text is NULL when there is none */
bool hash_store_set_note(HashStore *store, const char *name, const char *text, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The same for numbers; 0 when there is none. */
bool hash_store_get_number(HashStore *store, const char *name, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_set_number(HashStore *store, const char *name, uint64_t number, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Set it to @most if it is more. */
bool hash_store_lower_number(HashStore *store, const char *name, uint64_t most, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Keep @anchor.  Its object's row may follow later, in the same commit. */
bool hash_store_put_anchor(HashStore *store, const Anchor *anchor, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Anchors in all segments, and the number of segments. */
bool hash_store_count_anchors(HashStore *store, uint64_t *ret_anchors, uint32_t *ret_segments,
			      GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HashStore, hash_store_close)
