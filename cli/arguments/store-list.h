/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/exit-status.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/history.h"

/*
 * StoreList - all stores of a directory, or the requested ones, in order of UUID.  Each is opened for reading
 * when its turn comes.
 *
 * If a store cannot be read, the list reports it on standard error and goes on with the next store.
 *
 * Thread: main.
 */
typedef struct StoreList StoreList;

typedef struct {
	HashStore *store;     /* owned by the list, valid until the next call */
	PassRecord last_pass; /* all zero if there was none */
	bool has_pass;
} StoreEntry;

/* Open the store of one filesystem without a list. */
bool store_entry_open(StoreEntry *entry, const char *directory, const char *uuid, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void store_entry_clear(StoreEntry *entry);

/* Read the last pass of a store that the caller opened; store_entry_open() does so, too. */
bool store_entry_read_pass(StoreEntry *entry, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * @names are UUIDs and mount points as typed; NULL means all stores.  A mount point is matched with that of a
 * store's last pass.  A directory that does not exist has no stores.
 */
StoreList *store_list_open(const char *directory, char *const *names, GError **error);

/* The next store; NULL at the end. */
const StoreEntry *store_list_next(StoreList *list);

/*
 * Report that a store could not be read.  Call this when a cursor on the present store failed.  Consumes
 * @error.
 */
void store_list_failed_take(StoreList *list, GError *error);

/* Call this at the end.  It reports names that matched no store.  Returns false if anything went wrong. */
bool store_list_finish(StoreList *list);

/* The number of requested stores found so far, readable or not. */
size_t store_list_count(const StoreList *list);

/* Print on standard output that there is no store. */
void store_list_say_none(const StoreList *list);
void store_list_say_none_in(const char *directory);

/* Print on standard error that there is no store, if that is so and none was named. */
void store_list_note_none(const StoreList *list);

void store_list_close(StoreList *list);

/*
 * Call @look for each store of @directory that @names name, or for all of them.  @look adds its results to
 * @data.  Reports what went wrong, and returns the exit status.
 */
ExitStatus store_list_each(const char *directory, char *const *names,
			   bool (*look)(const StoreEntry *entry, void *data, GError **error),
			   void *data);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StoreEntry, store_entry_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreList, store_list_close)
