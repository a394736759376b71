/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/groups.h"
#include "hashstore/database/store-state.h"
#include "hashstore/objects/equal-groups.h"
#include "hashstore/objects/equal-list.h"
#include "hashstore/objects/equals.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/holders.h"
#include "hashstore/objects/names.h"
#include "hashstore/objects/open-extents.h"
#include "hashstore/objects/pinned.h"
#include "hashstore/objects/read-sums.h"
#include "hashstore/store-check.h"
#include "hashstore/store-size.h"
#include "tests/store/store-fixture.h"

#include <string.h>

#define EXTENT    FIXTURE_EXTENT_BYTES
#define N_EXTENTS FIXTURE_EXTENTS
#define FILES     FIXTURE_FILES

/*
 * Statements that begin, in all connections of this thread.  One of them fails before it does anything.  Other threads
 * only read ahead: this thread reads again what fails there.
 */
typedef struct {
	unsigned left; /* statements before the one that fails */
	bool counts;
	bool fails;
	bool failed;
	char sql[80]; /* of the one that failed */
} Faults;

static _Thread_local Faults faults;

static int begin_statement(unsigned mask, void *data, void *statement, void *sql)
{
	if (!faults.counts || faults.left-- > 0)
		return 0;
	faults.counts = false;
	faults.fails = true;
	g_strlcpy(faults.sql, sql, sizeof(faults.sql));
	return 0;
}

static int may_fail(void *data)
{
	bool fails = faults.fails;

	faults.failed |= fails;
	faults.fails = false;
	return fails;
}

static int watch(sqlite3 *connection, char **ret_message, const void *functions)
{
	sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, begin_statement, NULL);
	sqlite3_progress_handler(connection, 1, may_fail, NULL);
	return SQLITE_OK;
}

static const ExtentStamp one = { EXTENT, 7 }, other = { 2 * EXTENT, 8 };

static void assert_sound(const StoreFixture *fixture)
{
	GError *error = NULL;
	g_autoptr(HashStore) store = hash_store_open_to_read(fixture->path, &error);
	g_autoptr(GPtrArray) problems = NULL;

	g_assert_no_error(error);
	check_done(hash_store_check(store, &problems, &error), &error);
	for (guint i = 0; i < problems->len; i++)
		g_test_message("%s", (const char *)problems->pdata[i]);
	g_assert_cmpuint(problems->len, ==, 0);
}

/* What a reader asks. */

static bool find_objects(HashStore *store, GError **error)
{
	uint64_t n, done_blocks;
	g_autoptr(GBytes) state = NULL;
	const Object *found;
	Object peeked;
	bool is_found;

	return hash_store_find(store, 3, &found, error) &&
	       hash_store_peek(store, 4, &peeked, &is_found, error) &&
	       hash_store_find_at(store, 5, FILES, &found, error) &&
	       hash_store_find_before(store, OBJECT_EXTENTS, EXTENT + 5, &found, error) &&
	       hash_store_get_half(store, N_EXTENTS + 1, &done_blocks, &state, error) &&
	       hash_store_count_objects_of(store, 5, &n, error);
}

static bool walk_objects(HashStore *store, GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open(store, error);
	const Object *object;
	unsigned n = 0;

	if (!cursor)
		return false;
	do {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		n += object != NULL;
	} while (object);
	g_assert_cmpuint(n, ==, N_EXTENTS + 5);
	return true;
}

static bool find_names(HashStore *store, GError **error)
{
	g_autoptr(DirectoryCursor) cursor = directory_cursor_open(store, error);
	const DirectoryName *name;

	return cursor && directory_cursor_next(cursor, &name, error) &&
	       hash_store_find_directory(store, 5, FILES, &name, error);
}

static bool find_pinned(HashStore *store, GError **error)
{
	PinnedExtent pinned;
	uint64_t root;
	PinnedSum sum;
	bool found;

	return hash_store_sum_pinned(store, PINNED_ANY_CAUSE, &sum, error) &&
	       hash_store_next_pinned(store, 0, &pinned, &found, error) &&
	       hash_store_find_pinned(store, EXTENT, &pinned, &found, error) &&
	       hash_store_next_pinned_by(store, 256, 257, 0, &pinned, &found, error) &&
	       hash_store_next_pinning_root(store, 0, &root, error) &&
	       hash_store_next_pinning_root_for(store, 1, 0, &root, error) &&
	       hash_store_next_pinning_inode(store, 256, 0, &root, error);
}

static bool find_holders(HashStore *store, GError **error)
{
	g_auto(HoldersSummary) summary = { 0 };
	g_autofree char *text = NULL;
	HeldExtents held;

	return hash_store_get_holders(store, 1, &text, error) &&
	       hash_store_sum_held(store, &held, error) &&
	       hash_store_sum_holders(store, &summary, error);
}

static bool find_known_of_extents(HashStore *store, GError **error)
{
	g_autoptr(GBytes) sums = NULL;
	uint64_t n;
	bool found;

	return hash_store_has_differed(store, &one, &other, &found, error) &&
	       hash_store_count_differed(store, &one, 5, &n, error) &&
	       hash_store_has_read_sums(store, &found, error) &&
	       hash_store_get_read_sums(store, EXTENT, &n, &sums, error) &&
	       hash_store_next_new_read_sums(store, 0, &n, error) &&
	       hash_store_next_open_extent(store, 0, &n, error);
}

static bool read_history(HashStore *store, GError **error)
{
	g_autoptr(PassCursor) passes = pass_cursor_open(store, error);
	g_autofree char *note = NULL;
	const PassRecord *pass;
	const SkipRecord *skip;
	PassTotals totals;

	if (!passes || !pass_cursor_next(passes, &pass, error))
		return false;

	g_autoptr(SkipCursor) skips = skip_cursor_open(store, error);
	return skips && skip_cursor_next(skips, &skip, error) &&
	       hash_store_pass_totals(store, &totals, error) &&
	       hash_store_get_note(store, "note", &note, error);
}

static bool check_store(HashStore *store, GError **error)
{
	g_autoptr(GPtrArray) problems = NULL;

	return hash_store_check(store, &problems, error);
}

static bool measure(HashStore *store, GError **error)
{
	uint64_t needed_bytes;
	StoreSize size;

	return hash_store_size(store, &size, error) &&
	       hash_store_vacuum_needs(store, &needed_bytes, error);
}

static bool list_equal_groups(HashStore *store, EqualKind kind, GError **error)
{
	g_autoptr(EqualGroups) groups = equal_groups_open(store, kind, 0, 1 << 20, error);
	const EqualGroup *group;
	unsigned n = 0;

	if (!groups)
		return false;
	do {
		if (!equal_groups_next(groups, &group, error))
			return false;
		n += group != NULL;
	} while (group);
	g_assert_cmpuint(n, >, 0);
	return true;
}

static bool list_equal_extents(HashStore *store, GError **error)
{
	return list_equal_groups(store, EQUAL_EXTENTS, error);
}

static bool list_equal_files(HashStore *store, GError **error)
{
	return list_equal_groups(store, EQUAL_FILES, error);
}

static bool find_equals(HashStore *store, GError **error)
{
	g_autoptr(GArray) ids = g_array_new(false, false, sizeof(uint32_t));
	g_autoptr(Equals) equals = equals_open(store, error);
	const GArray *found;
	Object object;
	bool has_more;

	if (!equals || !hash_store_peek(store, 4, &object, &has_more, error) ||
	    !equals_find(equals, &object, 10, &found, &has_more, error))
		return false;
	g_assert_cmpuint(found->len, >, 0);
	return equals_list_anchored(equals, object.digest, ids, error);
}

static bool walk_groups(HashStore *store, GError **error)
{
	g_autoptr(Groups) groups = groups_open(store, store_fixture_all_live, NULL, error);
	const Group *group;
	unsigned n = 0;

	if (!groups)
		return false;
	do {
		if (!groups_next(groups, &group, error))
			return false;
		n += group != NULL;
	} while (group);
	g_assert_cmpuint(n, >, 0);
	return groups_rewind(groups, error) && groups_next(groups, &group, error);
}

/* What a pass writes. */

static bool change_objects(HashStore *store, GError **error)
{
	Object object = { .subvolume = 5, .inode = FILES, .state = OBJECT_SKIPPED };

	return hash_store_new_object(store, &object.id, error) &&
	       hash_store_put(store, &object, error) &&
	       hash_store_drop(store, OBJECT_EXTENTS, 3 * EXTENT, error) &&
	       hash_store_drop(store, 5, FILES + 1, error) && hash_store_commit(store, error);
}

static bool put_anchor(HashStore *store, GError **error)
{
	const Anchor anchor = { .digest = UINT64_C(7) << 40, .object = 3, .block = 1 };

	return hash_store_put_anchor(store, &anchor, error) && hash_store_commit(store, error);
}

static bool change_half(HashStore *store, GError **error)
{
	Object object = { .subvolume = 5, .inode = 1000, .state = OBJECT_HALF };

	return hash_store_new_object(store, &object.id, error) &&
	       hash_store_put(store, &object, error) &&
	       hash_store_put_half(store, object.id, 1, "state", 5, error) &&
	       hash_store_put_half(store, object.id, 2, "later", 5, error) &&
	       hash_store_commit(store, error);
}

static bool change_names(HashStore *store, GError **error)
{
	const DirectoryName name = { 5, FILES + 1, 5, 0, (const uint8_t *)"dir", 3, 7 };

	return hash_store_put_directory(store, &name, error) &&
	       hash_store_doubt_directories(store, error) &&
	       hash_store_drop_directory(store, 5, FILES, error) && hash_store_commit(store, error);
}

static bool change_pinned(HashStore *store, GError **error)
{
	const uint64_t roots[] = { 257 };
	PinnedExtent pinned = { .extent = { 3 * EXTENT, 7 }, .cause = 1 };
	const HoldersSummary summary = { 1, 257, (char *)"/srv" };
	bool kept;

	return hash_store_put_holders(store, roots, 1, &pinned.holders, error) &&
	       hash_store_put_pinned(store, &pinned, &kept, error) &&
	       hash_store_drop_pinned(store, EXTENT, error) &&
	       hash_store_drop_unused_holders(store, error) &&
	       hash_store_clear_pinned(store, error) &&
	       hash_store_note_holders(store, &summary, error) && hash_store_commit(store, error);
}

static bool change_known_of_extents(HashStore *store, GError **error)
{
	const ExtentStamp third = { 3 * EXTENT, 9 };
	const uint64_t sums[] = { 4, 5 };
	bool kept;

	return hash_store_put_differed(store, &one, &third, &kept, error) &&
	       hash_store_drop_differed(store, 2 * EXTENT, error) &&
	       hash_store_take_read_sums(store, EXTENT, error) &&
	       hash_store_put_read_sums(store, 2 * EXTENT, sums, 2, error) &&
	       hash_store_drop_read_sums(store, EXTENT, error) &&
	       hash_store_put_open_extent(store, 2 * EXTENT, error) &&
	       hash_store_drop_open_extent(store, 2 * EXTENT, error) &&
	       hash_store_drop_extent(store, EXTENT, error) && hash_store_commit(store, error);
}

static bool write_history(HashStore *store, GError **error)
{
	const char *const examples[] = { "/srv/b", NULL };
	const SkipRecord skip = { "busy", 1, 4096, examples };
	PassRecord pass = { .mount_point = (char *)"/srv", .ended_usec = 10 };
	uint64_t n;

	return hash_store_clear_skips(store, error) && hash_store_put_skip(store, &skip, error) &&
	       hash_store_put_pass(store, &pass, error) &&
	       hash_store_drop_passes_before(store, 5, &n, error) &&
	       hash_store_set_note(store, "note", "other", error) &&
	       hash_store_lower_number(store, "number", 7, error) &&
	       hash_store_commit(store, error);
}

static bool end_pass(HashStore *store, GError **error)
{
	return walk_groups(store, error) && hash_store_update_equal_list(store, error) &&
	       hash_store_settle(store, store_fixture_all_live, NULL, error) &&
	       hash_store_commit(store, error);
}

static bool list_all_equal(HashStore *store, GError **error)
{
	return hash_store_make_equal_list(store, error) && hash_store_commit(store, error);
}

static bool renew(HashStore *store, GError **error)
{
	const uint32_t ids[] = { 2, 5, N_EXTENTS + 2 };

	return hash_store_renew(store, ids, G_N_ELEMENTS(ids), error) &&
	       hash_store_commit(store, error);
}

static bool match_anew(HashStore *store, GError **error)
{
	return hash_store_unsettle(store, error) && hash_store_commit(store, error);
}

static bool drop_dead(HashStore *store, GError **error)
{
	return hash_store_drop_dead(store, store_fixture_all_live, NULL, error) &&
	       hash_store_commit(store, error);
}

static bool forget_all(HashStore *store, GError **error)
{
	return hash_store_forget_all(store, error) && hash_store_commit(store, error);
}

typedef struct {
	const char *name;
	bool (*run)(HashStore *store, GError **error);
	bool writes;
} Operation;

static const Operation operations[] = {
	{ "find-objects", find_objects, false },
	{ "walk-objects", walk_objects, false },
	{ "find-names", find_names, false },
	{ "find-pinned", find_pinned, false },
	{ "find-holders", find_holders, false },
	{ "find-known-of-extents", find_known_of_extents, false },
	{ "read-history", read_history, false },
	{ "check", check_store, false },
	{ "measure", measure, false },
	{ "list-equal-extents", list_equal_extents, false },
	{ "list-equal-files", list_equal_files, false },
	{ "find-equals", find_equals, false },
	{ "walk-groups", walk_groups, false },
	{ "change-objects", change_objects, true },
	{ "put-anchor", put_anchor, true },
	{ "change-half", change_half, true },
	{ "change-names", change_names, true },
	{ "change-pinned", change_pinned, true },
	{ "change-known-of-extents", change_known_of_extents, true },
	{ "write-history", write_history, true },
	{ "end-pass", end_pass, true },
	{ "list-all-equal", list_all_equal, true },
	{ "renew", renew, true },
	{ "match-anew", match_anew, true },
	{ "drop-dead", drop_dead, true },
	{ "forget-all", forget_all, true },
};

/* An open statement would keep the WAL from being emptied. */
static void assert_no_statement_is_open(HashStore *store)
{
	sqlite3_stmt *statement = NULL;

	while ((statement = sqlite3_next_stmt(store->database->handle, statement)))
		if (sqlite3_stmt_busy(statement))
			g_error("\"%s\" is open", sqlite3_sql(statement));
}

static HashStore *open_store(const StoreFixture *fixture, bool writes)
{
	GError *error = NULL;
	HashStore *store;

	if (writes)
		return store_fixture_open(fixture);
	store = hash_store_open_to_read(fixture->path, &error);
	g_assert_no_error(error);
	return store;
}

/* Run the operation, of which the statement @n fails.  Returns whether it has so many. */
static bool run_with_fault(const StoreFixture *fixture, const Operation *operation, unsigned n)
{
	g_autoptr(HashStore) store = open_store(fixture, operation->writes);
	g_autoptr(GError) error = NULL;
	bool done;

	faults = (Faults){ .left = n, .counts = true };
	done = operation->run(store, &error);
	faults.counts = false;
	assert_no_statement_is_open(store);

	if (!faults.failed) {
		check_done(done, &error);
		return false;
	}
	if (done || !error)
		g_error("%s: the failure of \"%s\" is lost", operation->name, faults.sql);
	g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "interrupted"));
	return true;
}

static void test_the_failure_of_any_statement_is_reported(const void *data)
{
	const Operation *operation = data;
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autofree char *content = NULL;
	GError *error = NULL;
	gsize n_bytes;
	unsigned n = 0, n_failed = 0;

	store_fixture_fill_tables(fixture);
	assert_sound(fixture);
	check_done(g_file_get_contents(fixture->path, &content, &n_bytes, &error), &error);

	/* What is looked up for each object takes many statements, which are all alike. */
	for (; run_with_fault(fixture, operation, n); n += 1 + n / 16, n_failed++) {
		if (!operation->writes)
			continue;
		assert_sound(fixture);
		check_done(g_file_set_contents(fixture->path, content, (gssize)n_bytes, &error),
			   &error);
	}
	assert_sound(fixture);
	g_assert_cmpuint(n_failed, >, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	/* SQLite is set up when a store is opened. */
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	hash_store_close(store_fixture_open(fixture));
	sqlite3_auto_extension((void (*)(void))watch);

	for (size_t i = 0; i < G_N_ELEMENTS(operations); i++) {
		g_autofree char *name =
			g_strdup_printf("/failing-statements/%s", operations[i].name);

		g_test_add_data_func(name, &operations[i],
				     test_the_failure_of_any_statement_is_reported);
	}
	return g_test_run();
}
