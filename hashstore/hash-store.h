/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchors.h"
#include "hashstore/anchors/segments.h"
#include "hashstore/database/notes.h"
#include "hashstore/database/store-transaction.h"

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

/* Size of the database file and its WAL on disk. */
uint64_t hash_store_file_bytes(const HashStore *store);

/*
 * Size of what the store holds, without pages that are free: what is not committed yet is in it, and
 * anchors in memory by what they will take.  0 where SQLite does not say.
 */
uint64_t hash_store_content_bytes(HashStore *store);

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

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HashStore, hash_store_close)
