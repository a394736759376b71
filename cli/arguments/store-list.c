/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/store-list.h"

#include "cli/terminal/message.h"
#include "hashstore/database/store-files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct StoreList {
	char *directory;
	GPtrArray *uuids;  /* of the files, as their names say */
	GPtrArray *names;  /* as typed */
	GPtrArray *places; /* the same, as absolute paths without links */
	GHashTable *known; /* names that a store answered to; borrowed from names */
	size_t n_opened;   /* of uuids */
	size_t n_asked;
	bool failed;
	StoreEntry entry;
};

static char *place_of(const char *name)
{
	char *real = realpath(name, NULL);

	return real ? real : g_canonicalize_filename(name, NULL);
}

StoreList *store_list_open(const char *directory, char *const *names, GError **error)
{
	g_autoptr(StoreList) list = g_new0(StoreList, 1);

	list->directory = g_strdup(directory);
	list->names = g_ptr_array_new_with_free_func(g_free);
	list->places = g_ptr_array_new_with_free_func(free);
	list->known = g_hash_table_new(g_str_hash, g_str_equal);
	for (; names && *names; names++) {
		g_ptr_array_add(list->names, g_strdup(*names));
		g_ptr_array_add(list->places, place_of(*names));
	}
	list->uuids = store_files_list(directory, error);
	if (!list->uuids)
		return NULL;

	return g_steal_pointer(&list);
}

void store_entry_clear(StoreEntry *entry)
{
	pass_record_clear(&entry->last_pass);
	g_clear_pointer(&entry->store, hash_store_close);
	memset(entry, 0, sizeof(*entry));
}

/* Whether the store of @uuid could be meant: a UUID says so at once, a mount point needs a look. */
static bool may_be_asked(StoreList *list, const char *uuid)
{
	bool may_be = list->names->len == 0;

	for (size_t i = 0; i < list->names->len; i++) {
		char *name = list->names->pdata[i];

		if (g_ascii_strcasecmp(name, uuid) == 0)
			g_hash_table_add(list->known, name);
		else if (g_uuid_string_is_valid(name))
			continue;
		may_be = true;
	}
	return may_be;
}

static bool is_asked(StoreList *list, const char *uuid)
{
	bool is_asked = list->names->len == 0;

	for (size_t i = 0; i < list->names->len; i++) {
		char *name = list->names->pdata[i];

		if (g_ascii_strcasecmp(name, uuid) != 0 &&
		    g_strcmp0(list->places->pdata[i], list->entry.last_pass.mount_point) != 0)
			continue;
		g_hash_table_add(list->known, name);
		is_asked = true;
	}
	return is_asked;
}

bool store_entry_read_pass(StoreEntry *entry, GError **error)
{
	g_autoptr(PassCursor) cursor = pass_cursor_open(entry->store, error);
	const PassRecord *last;

	if (!cursor || !pass_cursor_next(cursor, &last, error))
		return false;
	if (!last)
		return true;

	entry->has_pass = true;
	entry->last_pass = *last;
	entry->last_pass.mount_point = g_strdup(last->mount_point);
	return true;
}

bool store_entry_open(StoreEntry *entry, const char *directory, const char *uuid, GError **error)
{
	entry->store = hash_store_open_of(directory, uuid, error);
	return entry->store && store_entry_read_pass(entry, error);
}

const StoreEntry *store_list_next(StoreList *list)
{
	while (list->n_opened < list->uuids->len) {
		const char *uuid = list->uuids->pdata[list->n_opened++];
		g_autoptr(GError) error = NULL;

		store_entry_clear(&list->entry);
		if (!may_be_asked(list, uuid))
			continue;
		if (!store_entry_open(&list->entry, list->directory, uuid, &error)) {
			list->n_asked++;
			store_list_failed_take(list, g_steal_pointer(&error));
			continue;
		}
		if (!is_asked(list, uuid))
			continue;
		list->n_asked++;
		return &list->entry;
	}

	store_entry_clear(&list->entry);
	return NULL;
}

void store_list_failed_take(StoreList *list, GError *error)
{
	message_print_error(error);
	/* A store that was just begun, or awaits its upgrade by the next pass, is in order. */
	if (!g_error_matches(error, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT))
		list->failed = true;
	g_error_free(error);
}

/* Why no store could be of it, if that is plain. */
static const char *doubt_of(const char *name)
{
	struct stat found;

	if (g_uuid_string_is_valid(name))
		return "";
	if (stat(name, &found) != 0)
		return errno == ENOENT ? ": there is no such directory" : "";
	return S_ISDIR(found.st_mode) ? "" : ": it is no directory";
}

bool store_list_finish(StoreList *list)
{
	for (size_t i = 0; i < list->names->len; i++) {
		const char *name = list->names->pdata[i];

		if (g_hash_table_contains(list->known, name))
			continue;
		message_print("%s contains no store of the filesystem %s%s", list->directory, name,
			      doubt_of(name));
		list->failed = true;
	}

	return !list->failed;
}

size_t store_list_count(const StoreList *list)
{
	return list->n_asked;
}

void store_list_say_none_in(const char *directory)
{
	g_autofree char *text = message_terminal_text(directory);

	printf("There is no store in %s: dedupd made no pass that is remembered there.\n", text);
}

void store_list_say_none(const StoreList *list)
{
	store_list_say_none_in(list->directory);
}

void store_list_note_none(const StoreList *list)
{
	if (list->n_asked == 0 && list->names->len == 0)
		message_print("there is no store in %s: dedupd made no pass that is remembered "
			      "there",
			      list->directory);
}

void store_list_close(StoreList *list)
{
	if (!list)
		return;

	store_entry_clear(&list->entry);
	g_hash_table_unref(list->known);
	g_ptr_array_unref(list->places);
	g_ptr_array_unref(list->names);
	g_clear_pointer(&list->uuids, g_ptr_array_unref);
	g_free(list->directory);
	g_free(list);
}

ExitStatus store_list_each(const char *directory, char *const *names,
			   bool (*look)(const StoreEntry *entry, void *data, GError **error),
			   void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(StoreList) list = store_list_open(directory, names, &error);
	bool in_use = false;
	const StoreEntry *entry;

	if (!list)
		return message_fail(EXIT_STATUS_FAILED, "cannot read the stores: %s",
				    error->message);

	while ((entry = store_list_next(list))) {
		GError *failed = NULL;

		if (look(entry, data, &failed))
			continue;
		in_use |= g_error_matches(failed, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE);
		store_list_failed_take(list, failed);
	}

	store_list_note_none(list);
	if (store_list_finish(list))
		return EXIT_STATUS_DONE;
	return in_use ? EXIT_STATUS_IN_USE : EXIT_STATUS_FAILED;
}
