/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects.h"

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

/* For all but objects; owned by the import. */
HashStore *store_import_store(StoreImport *import);

/* Put an object with the id that it has.  *ret_is_new is false if one has its id, or its key, already. */
bool store_import_put(StoreImport *import, const Object *object, bool *ret_is_new, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Take the place, after a commit.  *ret_aside is where the store lies now that was there before, or NULL:
 * to be freed.
 */
bool store_import_finish(StoreImport *import, char **ret_aside, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* What did not take its place is deleted.  Accepts NULL. */
void store_import_free(StoreImport *import);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreImport, store_import_free)
