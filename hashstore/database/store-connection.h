/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-state.h"

/*
 * StoreConnection - how a store reaches its file: at rest, or to write.
 *
 * Between passes all data is in the one file, and the WAL beside it is empty.  A connection in WAL mode
 * rewrites the -shm file even if it only reads, so a writer begins at rest.  It holds the lock, so nobody else
 * changes the file, and SQLite can treat it as immutable.  Such a connection makes and changes no file.  The
 * first change opens the connection that writes.
 *
 * Snapshots taken at rest stay valid while the store is changed.  They ignore the WAL and its locks: changes
 * go to the WAL, and only a checkpoint copies them into the file.  Only the writer makes checkpoints, and none
 * while a snapshot taken at rest is open.
 *
 * Thread: the owner's of the store.
 */

/* Open a store whose lock is held: at rest, unless an interrupted pass left a WAL. */
bool store_connection_open(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Switch to the connection that writes; statements are prepared again on demand.  @is_empty: the file is empty
 * yet.
 */
bool store_connection_write(HashStore *store, bool is_empty, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Copy the WAL into the file if it is large, unless asked to stop.  That writes everything twice and waits for
 * the disk, so it is rare in a pass, and done at its end.
 */
bool store_connection_checkpoint(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The same if it has more than @limit_bytes. */
bool store_connection_limit_wal(HashStore *store, uint64_t limit_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

void store_connection_close(HashStore *store);

/* Open a second connection that sees what is committed now, until it is ended. */
Database *hash_store_snapshot(HashStore *store, GError **error);

/* End a snapshot, before the store is closed.  Accepts NULL. */
void hash_store_end_snapshot(HashStore *store, Database *snapshot);
