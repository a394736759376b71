/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/store-meta.h"

#include "hashstore/database/object-places.h"
#include "hashstore/database/store-transaction.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* Rows of stores with a fleet's key alone. */
#define FLEET_KEY "fleet_key"
#define NUMBER    "number"

static bool put_int(HashStore *store, const char *name, int64_t value, GError **error)
{
	sqlite3_stmt *put = hash_store_change(store, STATEMENT_PUT_META, error);

	if (!put)
		return false;
	sqlite3_bind_text(put, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 2, value);

	return hash_store_apply(store, put, error);
}

static bool put_text(HashStore *store, const char *name, const char *value, GError **error)
{
	sqlite3_stmt *put = hash_store_change(store, STATEMENT_PUT_META, error);

	if (!put)
		return false;
	sqlite3_bind_text(put, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_text(put, 2, value, -1, SQLITE_STATIC);

	return hash_store_apply(store, put, error);
}

static bool get_random(void *ret, size_t n_bytes, GError **error)
{
	/* getrandom(2) returns up to 256 bytes whole and without interruption. */
	if (getrandom(ret, n_bytes, 0) == (ssize_t)n_bytes)
		return true;

	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED, "cannot get random bytes: %s",
		    g_strerror(errno));
	return false;
}

static bool put_secret(HashStore *store, const uint8_t *given, GError **error)
{
	uint8_t secret[HASH_STORE_SECRET_BYTES];
	sqlite3_stmt *put;

	if (given)
		memcpy(secret, given, sizeof(secret));
	else if (!get_random(secret, sizeof(secret), error))
		return false;

	put = hash_store_change(store, STATEMENT_PUT_META, error);
	if (!put)
		return false;
	sqlite3_bind_text(put, 1, "secret", -1, SQLITE_STATIC);
	sqlite3_bind_blob(put, 2, secret, sizeof(secret), SQLITE_STATIC);

	return hash_store_apply(store, put, error);
}

/* The rows of a store with a fleet's key. */
static bool put_fleet(HashStore *store, const char *key, GError **error)
{
	uint64_t number;

	return !key || *key == '\0' ||
	       (get_random(&number, sizeof(number), error) &&
		put_text(store, FLEET_KEY, key, error) &&
		put_int(store, NUMBER, (int64_t)(number >> 1), error));
}

bool store_meta_begin(HashStore *store, const HashStoreOptions *options, GError **error)
{
	uint32_t k = options->anchor_blocks ? options->anchor_blocks : options->new_anchor_blocks;
	uint32_t w =
		options->window_anchors ? options->window_anchors : options->new_window_anchors;

	return put_text(store, "uuid", options->uuid, error) &&
	       put_text(store, "kind", options->kind, error) &&
	       put_int(store, "block_bytes", options->block_bytes, error) &&
	       put_int(store, "anchor_blocks", k, error) &&
	       put_int(store, "window_anchors", w, error) &&
	       put_int(store, "next_object", 1, error) &&
	       put_int(store, "settled_below", 1, error) && put_int(store, "objects", 0, error) &&
	       put_secret(store, options->secret, error) &&
	       put_fleet(store, options->fleet_key, error);
}

static bool load_text(sqlite3_stmt *row, char *ret, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(row, 1);

	return text && g_strlcpy(ret, text, size) < size;
}

static bool load_secret(sqlite3_stmt *row, uint8_t *ret)
{
	const void *bytes = sqlite3_column_blob(row, 1);

	if (sqlite3_column_bytes(row, 1) != HASH_STORE_SECRET_BYTES)
		return false;
	memcpy(ret, bytes, HASH_STORE_SECRET_BYTES);

	return true;
}

/* False if the value is not valid for its name. */
static bool load_row(HashStore *store, sqlite3_stmt *row, unsigned *n_known)
{
	HashStoreAbout *about = &store->about;
	const char *name = (const char *)sqlite3_column_text(row, 0);
	const struct {
		const char *name;
		uint32_t *number;
		uint32_t least;
		uint32_t most;
	} numbers[] = {
		{ "block_bytes", &about->block_bytes, HASH_STORE_BLOCK_BYTES_MIN,
		  HASH_STORE_BLOCK_BYTES_MAX },
		{ "anchor_blocks", &about->anchor_blocks, 1, HASH_STORE_ANCHOR_BLOCKS_MAX },
		{ "window_anchors", &about->window_anchors, HASH_STORE_WINDOW_ANCHORS_MIN,
		  HASH_STORE_WINDOW_ANCHORS_MAX },
		{ "next_object", &store->counts.next_object, 1, UINT32_MAX },
		{ "settled_below", &store->counts.settled_below, 1, UINT32_MAX },
	};

	if (!name)
		return false;
	(*n_known)++;
	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
		int64_t value = sqlite3_column_int64(row, 1);

		if (strcmp(name, numbers[i].name) != 0)
			continue;
		*numbers[i].number = (uint32_t)value;
		return value >= numbers[i].least && value <= numbers[i].most;
	}

	if (strcmp(name, "objects") == 0) {
		store->counts.objects = (uint64_t)sqlite3_column_int64(row, 1);
		return true;
	}
	if (strcmp(name, "uuid") == 0)
		return load_text(row, about->uuid, sizeof(about->uuid));
	if (strcmp(name, "kind") == 0)
		return load_text(row, about->kind, sizeof(about->kind));
	if (strcmp(name, "secret") == 0)
		return load_secret(row, about->secret);
	(*n_known)--;
	if (strcmp(name, FLEET_KEY) == 0)
		return load_text(row, about->fleet_key, sizeof(about->fleet_key));
	if (strcmp(name, NUMBER) == 0)
		about->number = (uint64_t)sqlite3_column_int64(row, 1);
	if (strcmp(name, "dead") == 0)
		store->counts.dead = (uint64_t)sqlite3_column_int64(row, 1);

	return true;
}

bool store_meta_load(HashStore *store, GError **error)
{
	g_autoptr(sqlite3_stmt) all = NULL;
	unsigned n_known = 0;
	int64_t halves;
	bool row;

	/* Absent until an object dies. */
	store->counts.dead = 0;
	all = database_prepare(store->database, "SELECT name, value FROM meta", error);
	if (!all || !database_step(store->database, all, &row, error))
		return false;
	while (row) {
		if (!load_row(store, all, &n_known)) {
			database_set_corrupt(store->database, "its own description is not valid",
					     error);
			return false;
		}
		if (!database_step(store->database, all, &row, error))
			return false;
	}
	if (n_known != 9 || (store->about.block_bytes & (store->about.block_bytes - 1)) != 0) {
		database_set_corrupt(store->database, "it does not name its filesystem", error);
		return false;
	}
	/* In a damaged store no object is settled. */
	if (store->counts.settled_below > store->counts.next_object)
		store->counts.settled_below = 1;
	store->saved_counts = store->counts;

	if (!database_get_int(store->database, "SELECT count(*) FROM half", &halves, error))
		return false;
	store->halves = (uint64_t)halves;

	return object_places_load(store, error);
}

static bool check_number(const HashStore *store, const char *what, uint32_t stored, uint32_t wanted,
			 GError **error)
{
	if (stored == wanted)
		return true;

	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
		    "the store %s was made with %s %u, not %u: use %u, or --rebuild, which moves "
		    "it aside and begins anew",
		    store->path, what, stored, wanted, stored);

	return false;
}

/* "the fleet key ID", or the secret of a store that has none. */
static char *key_text(const char *key)
{
	return *key ? g_strconcat("the fleet key ", key, NULL) : g_strdup("a key of its own");
}

static bool check_key(const HashStore *store, const char *wanted, GError **error)
{
	if (!wanted || strcmp(store->about.fleet_key, wanted) == 0)
		return true;

	g_autofree char *has = key_text(store->about.fleet_key);
	g_autofree char *wants = key_text(wanted);
	g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED,
		    "the store %s was made with %s, and FleetKey= asks for %s: change FleetKey= "
		    "back; or run 'dedupd --once --rebuild' on the filesystem, which moves the "
		    "store aside and begins anew",
		    store->path, has, wants);
	return false;
}

bool store_meta_check(const HashStore *store, const HashStoreOptions *options, GError **error)
{
	const HashStoreAbout *about = &store->about;

	if (strcmp(about->uuid, options->uuid) != 0 || strcmp(about->kind, options->kind) != 0) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FOREIGN,
			    "the store %s is of the %s filesystem %s, not of the %s filesystem %s "
			    "(--rebuild moves it aside and begins anew)",
			    store->path, about->kind, about->uuid, options->kind, options->uuid);
		return false;
	}

	return check_key(store, options->fleet_key, error) &&
	       check_number(store, "block size", about->block_bytes, options->block_bytes, error) &&
	       (options->anchor_blocks == 0 ||
		check_number(store, "anchor-blocks (k)", about->anchor_blocks,
			     options->anchor_blocks, error)) &&
	       (options->window_anchors == 0 ||
		check_number(store, "window-anchors (w)", about->window_anchors,
			     options->window_anchors, error));
}

bool store_meta_save_counts(HashStore *store, GError **error)
{
	const HashStoreCounts *now = &store->counts;
	const HashStoreCounts *saved = &store->saved_counts;

	if (now->next_object != saved->next_object &&
	    !put_int(store, "next_object", now->next_object, error))
		return false;
	if (now->settled_below != saved->settled_below &&
	    !put_int(store, "settled_below", now->settled_below, error))
		return false;
	if (now->objects != saved->objects &&
	    !put_int(store, "objects", (int64_t)now->objects, error))
		return false;
	if (now->dead != saved->dead && !put_int(store, "dead", (int64_t)now->dead, error))
		return false;

	return true;
}
