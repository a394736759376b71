/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/exit-status.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/history.h"

/*
 * StoreList - the stores of a directory, or those of them that were asked for, each opened to read
 * when its turn comes, in order of UUID.
 *
 * What cannot be read is said on standard error, and the walk goes on with the next store.
 *
 * Thread: main.
 */
typedef struct StoreList StoreList;

typedef struct {
	HashStore *store;     /* owned by the list, valid until the next call */
	PassRecord last_pass; /* all zero when there was none */
	bool has_pass;
} StoreEntry;

/* Open the store of one filesystem, for who does without a list. */
bool store_entry_open(StoreEntry *entry, const char *directory, const char *uuid, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void store_entry_clear(StoreEntry *entry);

/*
 * @names are UUIDs and mount points as typed, or NULL for all stores; a mount point is that of a
 * store's last pass.  A directory that does not exist has no stores.
 */
StoreList *store_list_open(const char *directory, char *const *names, GError **error);

/* The next store; NULL at the end. */
const StoreEntry *store_list_next(StoreList *list);

/* A store could not be read: call when a cursor on the present one failed; consumes @error. */
void store_list_failed_take(StoreList *list, GError *error);

/* At the end: says which names were of no store.  Returns false if anything at all went wrong. */
bool store_list_finish(StoreList *list);

/* The stores met so far that were asked for, readable or not. */
size_t store_list_count(const StoreList *list);

/* Say on standard output that there is no store at all. */
void store_list_say_none(const StoreList *list);
void store_list_say_none_in(const char *directory);

/* Say on standard error that there is none, if that is so and none was named. */
void store_list_note_none(const StoreList *list);

void store_list_close(StoreList *list);

/*
 * Have @look work on each store of @directory that @names name, or on all of them; it adds to what it
 * was given by @data.  Says what went wrong, and returns what to exit with.
 */
ExitStatus store_list_each(const char *directory, char *const *names,
			   bool (*look)(const StoreEntry *entry, void *data, GError **error),
			   void *data);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StoreEntry, store_entry_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreList, store_list_close)
