/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/store-import.h"

#include "hashstore/checkpoint.h"
#include "hashstore/hash-store-internal.h"
#include "hashstore/store-files.h"

#include <unistd.h>

struct StoreImport {
	/* Set at creation, never changed. */
	char *path;      /* of the filesystem's store */
	char *lock_path; /* of the one that is made */
	char *made_path;
	char *made_in; /* its directory */
	int lock_fd;   /* of the filesystem's store */

	HashStore *store; /* NULL once it was closed */
};

static char *file_in(const char *directory, const char *uuid, const char *suffix)
{
	g_autofree char *name = g_strconcat(uuid, suffix, NULL);

	return g_build_filename(directory, name, NULL);
}

/* What an import left that was killed, too. */
static bool delete_made(const StoreImport *import, GError **error)
{
	if (!store_files_delete(import->made_path, error))
		return false;
	unlink(import->lock_path);
	rmdir(import->made_in);

	return true;
}

static bool lock(StoreImport *import, const char *directory, const char *uuid, bool replace,
		 GError **error)
{
	if (!store_files_make_directory(directory, error))
		return false;
	import->lock_fd = store_files_lock(directory, uuid, error);
	if (import->lock_fd < 0)
		return false;
	if (replace || !g_file_test(import->path, G_FILE_TEST_EXISTS))
		return true;

	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE,
		    "there is a store already, %s: --replace moves it aside", import->path);
	return false;
}

StoreImport *store_import_begin(const char *directory, const HashStoreAbout *about, bool replace,
				size_t memory_bytes, GError **error)
{
	g_autoptr(StoreImport) import = g_new0(StoreImport, 1);
	HashStoreOptions options = {
		.uuid = about->uuid,
		.kind = about->kind,
		.block_bytes = about->block_bytes,
		.anchor_blocks = about->anchor_blocks,
		.window_anchors = about->window_anchors,
		.secret = about->secret,
		.memory_bytes = memory_bytes,
	};

	import->lock_fd = -1;
	import->path = file_in(directory, about->uuid, ".sqlite");
	import->made_in = file_in(directory, about->uuid, ".import");
	import->made_path = file_in(import->made_in, about->uuid, ".sqlite");
	import->lock_path = file_in(import->made_in, about->uuid, ".lock");
	if (!lock(import, directory, about->uuid, replace, error) || !delete_made(import, error))
		return NULL;

	options.directory = import->made_in;
	import->store = hash_store_open(&options, error);

	return import->store ? g_steal_pointer(&import) : NULL;
}

HashStore *store_import_store(StoreImport *import)
{
	return import->store;
}

bool store_import_put(StoreImport *import, const Object *object, bool *ret_is_new, GError **error)
{
	HashStore *store = import->store;
	const Object *same_id, *same_key;

	*ret_is_new = false;
	if (!hash_store_find(store, object->id, &same_id, error) ||
	    !hash_store_find_at(store, object->subvolume, object->inode, &same_key, error))
		return false;
	if (same_id || same_key)
		return true;

	*ret_is_new = true;
	store->counts.next_object = MAX(store->counts.next_object, object->id + 1);
	return hash_store_put(store, object, error);
}

bool store_import_finish(StoreImport *import, char **ret_aside, GError **error)
{
	*ret_aside = NULL;
	/* What was not settled would stay in the WAL, which has no part in the move. */
	if (!hash_store_commit(import->store, error) ||
	    !checkpoint_run(import->store->database, NULL, error))
		return false;
	g_clear_pointer(&import->store, hash_store_close);

	return store_files_move_aside(import->path, ret_aside, error) &&
	       store_files_move(import->made_path, import->path, error);
}

void store_import_free(StoreImport *import)
{
	if (!import)
		return;

	g_clear_pointer(&import->store, hash_store_close);
	if (import->lock_fd >= 0) {
		(void)delete_made(import, NULL);
		close(import->lock_fd);
	}
	g_free(import->lock_path);
	g_free(import->made_path);
	g_free(import->made_in);
	g_free(import->path);
	g_free(import);
}
