/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * StoreImport - builds a new store beside the filesystem's present one, if any, and replaces that when complete.
 *
 * Meanwhile the new store is DIRECTORY/UUID.import.  The import holds the writer's lock of the filesystem's store
 * all the time.  Imported objects are not settled: the next pass matches them as if it had just read them.
 *
 * Thread: the owner's of the store.
 */
typedef struct StoreImport StoreImport;

/*
 * Begin a store in @directory, created if absent, with the properties and the secret of @about.  With @replace, an
 * existing store will be moved aside (UUID.sqlite.old-N).  HASH_STORE_ERROR_IN_USE: a store exists without
 * @replace, or another process writes it.
 */
StoreImport *store_import_begin(const char *directory, const HashStoreAbout *about, bool replace,
				size_t memory_bytes, GError **error);

/* The store to fill, which assigns its own ids; owned by the import. */
HashStore *store_import_store(StoreImport *import);

/*
 * Replace the old store, after a commit.  *ret_aside is the new path of the old store, or NULL; to be freed.
 * After an error the old store is unchanged, and the import can only be freed.
 */
bool store_import_finish(StoreImport *import, char **ret_aside, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Deletes the new store if it is not finished.  Accepts NULL. */
void store_import_free(StoreImport *import);

/* Delete the remains of a killed import.  The caller holds the writer's lock of the filesystem's store. */
bool store_import_delete_left(const char *directory, const char *uuid, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreImport, store_import_free)
