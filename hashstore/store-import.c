/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/store-import.h"

#include "hashstore/database/checkpoint.h"
#include "hashstore/database/store-files.h"
#include "hashstore/database/store-state.h"
#include "hashstore/objects/equal-list.h"

#include <sys/stat.h>
#include <unistd.h>

struct StoreImport {
	/* Set at creation, never changed. */
	char *directory;
	HashStoreAbout about;
	char *path; /* of the filesystem's store */
	char *made_path;
	int lock_fd; /* of the filesystem's store */

	HashStore *store; /* NULL once it was closed */
};

static char *file_in(const char *directory, const char *uuid, const char *suffix)
{
	g_autofree char *name = g_strconcat(uuid, suffix, NULL);

	return g_build_filename(directory, name, NULL);
}

bool store_import_delete_left(const char *directory, const char *uuid, GError **error)
{
	g_autofree char *made_in = file_in(directory, uuid, ".import");
	g_autofree char *made = file_in(made_in, uuid, ".sqlite");
	g_autofree char *lock = file_in(made_in, uuid, ".lock");

	if (access(made_in, F_OK) != 0)
		return true;
	if (!store_files_delete(made, error))
		return false;
	unlink(lock);
	rmdir(made_in);

	return true;
}

static bool lock(StoreImport *import, const char *directory, const char *uuid, bool replace,
		 GError **error)
{
	struct stat there;

	if (!store_files_make_directory(directory, error))
		return false;
	import->lock_fd = store_files_lock(directory, uuid, error);
	if (import->lock_fd < 0)
		return false;
	if (replace || lstat(import->path, &there) != 0)
		return true;

	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE,
		    "there is a store already, %s: --replace moves it aside", import->path);
	return false;
}

StoreImport *store_import_begin(const char *directory, const HashStoreAbout *about, bool replace,
				size_t memory_bytes, GError **error)
{
	g_autoptr(StoreImport) import = g_new0(StoreImport, 1);
	g_autofree char *made_in = file_in(directory, about->uuid, ".import");
	const HashStoreOptions options = {
		.directory = made_in,
		.uuid = about->uuid,
		.kind = about->kind,
		.block_bytes = about->block_bytes,
		.anchor_blocks = about->anchor_blocks,
		.window_anchors = about->window_anchors,
		.secret = about->secret,
		.fleet_key = about->fleet_key,
		.memory_bytes = memory_bytes,
	};

	import->lock_fd = -1;
	import->directory = g_strdup(directory);
	import->about = *about;
	import->path = file_in(directory, about->uuid, ".sqlite");
	import->made_path = file_in(made_in, about->uuid, ".sqlite");
	if (!lock(import, directory, about->uuid, replace, error) ||
	    !store_import_delete_left(directory, about->uuid, error))
		return NULL;

	import->store = hash_store_open(&options, error);

	return import->store ? g_steal_pointer(&import) : NULL;
}

HashStore *store_import_store(StoreImport *import)
{
	return import->store;
}

bool store_import_finish(StoreImport *import, char **ret_aside, GError **error)
{
	*ret_aside = NULL;
	/* Unsettled data would stay in the WAL, which is not moved. */
	if (!hash_store_make_equal_list(import->store, error) ||
	    !hash_store_commit(import->store, error) ||
	    !checkpoint_run(import->store->database, NULL, error))
		return false;
	g_clear_pointer(&import->store, hash_store_close);

	return store_files_replace(import->made_path, import->path, ret_aside, error);
}

void store_import_free(StoreImport *import)
{
	g_autoptr(GError) error = NULL;

	if (!import)
		return;

	g_clear_pointer(&import->store, hash_store_close);
	if (import->lock_fd >= 0) {
		/* If this fails, the next import or pass deletes it. */
		if (!store_import_delete_left(import->directory, import->about.uuid, &error))
			g_debug("%s", error->message);
		close(import->lock_fd);
	}
	g_free(import->made_path);
	g_free(import->path);
	g_free(import->directory);
	g_free(import);
}
