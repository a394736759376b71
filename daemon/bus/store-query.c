/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/store-query.h"

#include "common/text/name-text.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/history.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)MIN(value, INT64_MAX));
}

/* Add @json, which is consumed, as a line. */
static void add_line(GString *text, json_t *json)
{
	char *line = json_dumps(json, JSON_COMPACT);

	g_string_append(text, line);
	g_string_append_c(text, '\n');
	free(line);
	json_decref(json);
}

static void add_pass(GString *text, const PassRecord *pass)
{
	const char *mount_point = pass->mount_point ? pass->mount_point : "";
	g_autofree char *name = name_text(mount_point, strlen(mount_point));
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "objects_read", pass->objects_read },
		{ "finding_bytes", pass->finding_bytes },
		{ "compare_bytes", pass->compare_bytes },
		{ "shared_bytes", pass->shared_bytes },
		{ "freed_bytes", pass->freed_bytes },
		{ "hole_bytes", pass->hole_bytes },
		{ "runs_shared", pass->runs_shared },
		{ "runs_differed", pass->runs_differed },
		{ "capped", pass->capped },
		{ "pinned_bytes", pass->pinned_bytes },
		{ "rewritten_bytes", pass->rewritten_bytes },
		{ "deferred_bytes", pass->deferred_bytes },
		{ "released_bytes", pass->released_bytes },
		{ "deferred_written_bytes", pass->deferred_written_bytes },
	};
	json_t *json = json_pack("{s:s, s:I, s:I, s:s}", "mount_point", name, "started_usec",
				 (json_int_t)pass->started_usec, "ended_usec",
				 (json_int_t)pass->ended_usec, "outcome",
				 pass_outcome_name(pass->outcome));

	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
		json_object_set_new(json, numbers[i].name, number(numbers[i].value));
	json_object_set_new(json, "files", pass->has_extents ? json_null() : number(pass->files));
	json_object_set_new(json, "extents", pass->has_extents ? number(pass->files) : json_null());
	json_object_set_new(json, "net_bytes",
			    pass->has_net ? json_integer((json_int_t)pass->net_bytes)
					  : json_null());
	json_object_set_new(json, "used_bytes",
			    pass->used_bytes > 0 ? number(pass->used_bytes) : json_null());
	json_object_set_new(json, "metadata_delta_bytes",
			    json_integer((json_int_t)pass->metadata_delta_bytes));
	json_object_set_new(json, "drift_bytes",
			    pass->is_checked ? json_integer((json_int_t)pass->drift_bytes)
					     : json_null());
	add_line(text, json);
}

static bool add_history(GString *text, HashStore *store, const atomic_bool *stop, GError **error)
{
	g_autoptr(PassCursor) cursor = pass_cursor_open(store, error);

	if (!cursor)
		return false;
	for (size_t n = 0; n < STORE_QUERY_PASSES_MAX && !atomic_load(stop); n++) {
		const PassRecord *pass;

		if (!pass_cursor_next(cursor, &pass, error))
			return false;
		if (!pass)
			break;
		add_pass(text, pass);
	}

	return true;
}

static void add_skip(GString *text, const SkipRecord *skip, bool has_names)
{
	json_t *json = json_pack("{s:s, s:o, s:o}", "reason", skip->reason, "count",
				 number(skip->count), "bytes", number(skip->bytes));
	json_t *examples = json_array();

	for (const char *const *example = skip->examples; *example; example++)
		json_array_append_new(examples, json_string(*example));
	if (has_names)
		json_object_set(json, "examples", examples);
	json_decref(examples);
	add_line(text, json);
}

static bool add_skips(GString *text, HashStore *store, bool has_names, const atomic_bool *stop,
		      GError **error)
{
	g_autoptr(SkipCursor) cursor = skip_cursor_open(store, error);

	if (!cursor)
		return false;
	while (!atomic_load(stop)) {
		const SkipRecord *skip;

		if (!skip_cursor_next(cursor, &skip, error))
			return false;
		if (!skip)
			break;
		add_skip(text, skip, has_names);
	}

	return true;
}

char *store_query_run(const char *directory, const char *uuid, StoreQueryKind kind,
		      const atomic_bool *stop, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) failed = NULL;
	g_autoptr(HashStore) store = hash_store_open_of(directory, uuid, &failed);
	bool done;

	if (!store) {
		if (g_error_matches(failed, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT))
			return g_string_free(g_steal_pointer(&text), FALSE);
		g_propagate_error(error, g_steal_pointer(&failed));
		return NULL;
	}

	if (kind == STORE_QUERY_HISTORY)
		done = add_history(text, store, stop, error);
	else
		done = add_skips(text, store, kind == STORE_QUERY_SKIPPED, stop, error);
	return done ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}
