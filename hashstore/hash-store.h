/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/segments.h"
#include "hashstore/database/notes.h"
#include "hashstore/database/store-transaction.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * HashStore - dedupd's persistent cache of one filesystem, in one SQLite file.
 *
 * The file is DIRECTORY/UUID.sqlite, mode 0600, in WAL mode with synchronous=NORMAL.  A store
 * opened for writing also holds DIRECTORY/UUID.lock (flock), which refuses a second writer.
 * Readers never block.  If the store is lost, all files must be fingerprinted again.
 *
 * A write transaction begins automatically with the first change and ends with hash_store_commit().
 * A pass that changes nothing opens none and writes nothing: no file of the directory changes, not even
 * SQLite's -shm.  Close all readers (cursors, groups) before the store.
 *
 * Long work (merging segments, walking groups, checkpoints) ends early, without an error, once the stop flag is
 * raised.  The flag is never cleared: see HashStoreOptions.
 *
 * Thread: one at a time: the filesystem's worker, or in turns the threads that deduplicate for it.  Threads of queries
 * open stores of their own.
 */

/*
 * Open for writing; create the store if absent.  Unless @options->rebuild, a
 * file that is foreign, newer or corrupt is refused by name and stays unchanged; so is one whose block size, k or
 * w differ from @options.
 */
HashStore *hash_store_open(const HashStoreOptions *options, GError **error);

/* Open the store in the file @path for reading only; never changes or creates a file. */
HashStore *hash_store_open_to_read(const char *path, GError **error);

/* The same for the store of the filesystem @uuid in @directory. */
HashStore *hash_store_open_of(const char *directory, const char *uuid, GError **error);

/* Delete the store of a filesystem.  It is an error if another process writes it. */
bool hash_store_delete(const char *directory, const char *uuid, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Discards uncommitted changes.  Accepts NULL. */
void hash_store_close(HashStore *store);

/* Size of the database file and its WAL on disk. */
uint64_t hash_store_file_bytes(const HashStore *store);

/*
 * Size of the store's content, without free pages.  It includes uncommitted changes, and the estimated size of
 * anchors in memory.  0 if SQLite does not report it.
 */
uint64_t hash_store_content_bytes(HashStore *store);

/*
 * Mark all objects as unsettled, so that they are matched again; fingerprints stay.  For a changed policy that
 * may find more.  Does not commit.
 */
bool hash_store_unsettle(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Forget all changes since the last commit, for a caller that failed amid a change of several rows.  Cursors and
 * snapshots must be closed.  A store that failed itself stays as it is: it commits nothing more.
 */
bool hash_store_roll_back(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Empty the store, notes included.  The history of passes and the secret stay, and ids are not reused.  Does not
 * commit.
 */
bool hash_store_forget_all(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HashStore, hash_store_close)
