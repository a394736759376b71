/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * StoreImport - a store that is made anew, beside the one of its filesystem if there is one, and takes its
 * place when it is whole.
 *
 * Meanwhile it lies in DIRECTORY/UUID.import.  The writer's lock of the filesystem's store is held all
 * the time.  Nothing of what is imported is settled: the next pass matches it as if it had just read it.
 *
 * Thread: the owner's of the store.
 */
typedef struct StoreImport StoreImport;

/*
 * Begin a store in @directory, made if absent, about what @about says, its secret too.  With @replace a
 * store that is there will be moved aside (UUID.sqlite.old-N), else it is an error
 * (HASH_STORE_ERROR_IN_USE); as it is that another process writes it.
 */
StoreImport *store_import_begin(const char *directory, const HashStoreAbout *about, bool replace,
				size_t memory_bytes, GError **error);

/* What is to be filled, with ids that it gives itself; owned by the import. */
HashStore *store_import_store(StoreImport *import);

/*
 * Take the place, after a commit.  *ret_aside is where the store lies now that was there before, or NULL:
 * to be freed.  After an error the store that was there is as it was; the import can only be freed.
 */
bool store_import_finish(StoreImport *import, char **ret_aside, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* What did not take its place is deleted.  Accepts NULL. */
void store_import_free(StoreImport *import);

/* Delete what an import left that was killed; the writer's lock of the filesystem's store is held. */
bool store_import_delete_left(const char *directory, const char *uuid, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreImport, store_import_free)
