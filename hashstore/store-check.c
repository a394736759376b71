/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/store-check.h"

#include "hashstore/anchors/segment-check.h"
#include "hashstore/database/store-connection.h"
#include "hashstore/database/store-state.h"
#include "hashstore/objects/object-record.h"

#include <string.h>
#include <sys/stat.h>

/* A query whose result is 0 in a valid store. */
typedef struct {
	const char *sql;
	const char *problem; /* "N" stands for the number */
} Question;

#define META(name) "(SELECT value FROM meta WHERE name = '" name "')"

static const Question questions[] = {
	{ "SELECT count(*) - " META("objects") " FROM object",
	  "the number of objects that is kept is wrong by N" },
	{ "SELECT count(*) FROM object WHERE id <= 0 OR id >= " META("next_object"),
	  "N objects have ids that were never given" },
	{ "SELECT " META("settled_below") " > " META("next_object"),
	  "objects are settled that do not exist yet" },
	{ "SELECT count(*) FROM half WHERE id NOT IN (SELECT id FROM object)",
	  "N half-read files are of no object" },
	{ "SELECT count(*) FROM pinned WHERE NOT EXISTS (SELECT 1 FROM object"
	  " WHERE subvolume = 0 AND inode = pinned.address)",
	  "N extents are pinned that are no objects" },
	{ "SELECT count(*) FROM differed AS one WHERE NOT EXISTS (SELECT 1 FROM differed AS other"
	  " WHERE other.address = one.other AND other.other = one.address"
	  " AND other.generation = one.other_generation"
	  " AND other.other_generation = one.generation)",
	  "N pairs of extents that differed are known from one side alone" },
	{ "SELECT (SELECT count(*) FROM page) - (SELECT " DATABASE_SUM(
		  "pages") " FROM segment)"
			   " + (SELECT " DATABASE_SUM(
				   "value") " FROM meta WHERE name GLOB 'merged_pages_*')",
	  "the pages of anchors are not those that segments have (N more)" },
};

/* Asked if the store has places. */
static const Question places_question = {
	"SELECT count(*) FROM object WHERE NOT EXISTS (SELECT 1 FROM place"
	" WHERE place.id = object.id AND place.subvolume = object.subvolume"
	" AND place.inode = object.inode)",
	"N objects are not found by their ids"
};

static bool is_full(const GPtrArray *problems)
{
	return problems->len >= STORE_PROBLEMS_MOST;
}

/* SQLite's own check: one row "ok", or a row per problem. */
static bool check_file(Database *snapshot, GPtrArray *problems, GError **error)
{
	g_autoptr(sqlite3_stmt) check =
		database_prepare(snapshot, "PRAGMA integrity_check(100)", error);
	bool row;

	if (!check || !database_step(snapshot, check, &row, error))
		return false;
	while (row) {
		const char *text = (const char *)sqlite3_column_text(check, 0);

		if (g_strcmp0(text, "ok") != 0 && !is_full(problems))
			g_ptr_array_add(problems, g_strdup_printf("the file: %s", text));
		if (!database_step(snapshot, check, &row, error))
			return false;
	}
	return true;
}

static bool ask(Database *snapshot, const Question *question, GPtrArray *problems, GError **error)
{
	int64_t answer;

	if (!database_get_int(snapshot, question->sql, &answer, error))
		return false;
	if (answer == 0 || is_full(problems))
		return true;

	g_autoptr(GString) text = g_string_new(question->problem);
	g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, answer);
	g_string_replace(text, "N", number, 1);
	g_ptr_array_add(problems, g_strdup(text->str));
	return true;
}

static bool check_objects(Database *snapshot, GPtrArray *problems, GError **error)
{
	g_autoptr(sqlite3_stmt) all = database_prepare(
		snapshot, "SELECT subvolume, inode, id, record FROM object", error);
	bool row;

	if (!all || !database_step(snapshot, all, &row, error))
		return false;
	while (row && !is_full(problems)) {
		const uint8_t *record = sqlite3_column_blob(all, 3);
		Object object = { 0 };

		if (!record ||
		    !object_record_read(record, (size_t)sqlite3_column_bytes(all, 3), &object))
			g_ptr_array_add(problems,
					g_strdup_printf("the record of object %lld is not valid",
							sqlite3_column_int64(all, 2)));
		if (!database_step(snapshot, all, &row, error))
			return false;
	}
	return true;
}

static bool check_segments(Database *snapshot, GPtrArray *problems, GError **error)
{
	g_autoptr(GPtrArray) segments = segment_list(snapshot, error);
	int64_t next_object;

	if (!segments ||
	    !database_get_int(snapshot, "SELECT " META("next_object"), &next_object, error))
		return false;

	for (size_t i = 0; i < segments->len && !is_full(problems); i++) {
		g_autofree char *problem = NULL;

		if (!segment_check(snapshot, segments->pdata[i], (uint64_t)next_object, &problem,
				   error))
			return false;
		if (problem)
			g_ptr_array_add(problems, g_steal_pointer(&problem));
	}
	return true;
}

static bool check_all(Database *snapshot, bool has_places, GPtrArray *problems, GError **error)
{
	if (!check_file(snapshot, problems, error))
		return false;
	/* Every table would report a damaged file again. */
	if (problems->len > 0)
		return true;

	for (size_t i = 0; i < G_N_ELEMENTS(questions); i++)
		if (!ask(snapshot, &questions[i], problems, error))
			return false;
	return (!has_places || ask(snapshot, &places_question, problems, error)) &&
	       check_objects(snapshot, problems, error) &&
	       check_segments(snapshot, problems, error);
}

/* The time of the last write, which alone shows changes of a store at rest. */
static struct timespec written(const HashStore *store)
{
	struct stat st = { 0 };

	return stat(store->path, &st) == 0 ? st.st_mtim : (struct timespec){ 0 };
}

/* Damage that stops a statement is a finding of the check. */
static bool is_finding(GPtrArray *problems, GError **failed)
{
	if (!g_error_matches(*failed, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT))
		return false;

	g_ptr_array_add(problems, g_strdup((*failed)->message));
	g_clear_error(failed);
	return true;
}

bool hash_store_check(HashStore *store, GPtrArray **ret_problems, GError **error)
{
	g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
	const struct timespec before = written(store);
	Database *snapshot = hash_store_snapshot(store, error);
	GError *failed = NULL;

	if (!snapshot)
		return false;

	bool checked = check_all(snapshot, !store->has_id_index, problems, &failed) ||
		       is_finding(problems, &failed);
	hash_store_end_snapshot(store, snapshot);
	if (!checked) {
		g_propagate_error(error, failed);
		return false;
	}

	const struct timespec after = written(store);
	if (problems->len > 0 && memcmp(&before, &after, sizeof(before)) != 0) {
		g_set_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE,
			    "the store %s was written while it was checked: check it again",
			    store->path);
		return false;
	}
	*ret_problems = g_steal_pointer(&problems);
	return true;
}
