/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store-state.h"

/*
 * StoreConnection - how a store reaches its file: at rest, or to write.
 *
 * Between passes everything lies in the one file, and the WAL beside it is empty.  A connection in
 * WAL mode rewrites the -shm even if it only reads, so a writer begins at rest: it holds the lock,
 * nobody else changes the file, and SQLite may be told that it is immutable.  Such a connection
 * makes and changes no file.  The first change opens the connection that writes.
 *
 * Snapshots taken at rest may be read on while the store is changed.  They see neither the WAL nor
 * its locks, and need not: changes go to the WAL, and only a checkpoint copies them into the file.
 * The writer alone makes checkpoints, and makes none while a snapshot taken at rest is open.
 *
 * Thread: the owner's of the store.
 */

/* Of a store whose lock is held: at rest, unless a pass that was cut short left a WAL. */
bool store_connection_open(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Have the connection that writes instead; what was prepared for the other is prepared anew when it
 * is asked for.  @is_empty: nothing was made in the file yet.
 */
bool store_connection_write(HashStore *store, bool is_empty, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Put the WAL into the file if it is large.  That writes everything twice and waits for the disk:
 * in a pass it is done seldom, and at its end; and not when asked to stop.
 */
bool store_connection_checkpoint(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

void store_connection_close(HashStore *store);

/* A second connection that sees what is committed now, until it is ended. */
Database *hash_store_snapshot(HashStore *store, GError **error);

/* Before the store is closed.  Accepts NULL. */
void hash_store_end_snapshot(HashStore *store, Database *snapshot);
