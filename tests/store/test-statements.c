/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/statements.h"
#include "tests/store/store-fixture.h"

#include <sqlite3.h>
#include <string.h>

/* Statements on small tables, statements that are stopped early, and statements that change all rows. */
static const Statement may_scan[] = {
	STATEMENT_ADD_TOTAL,
	STATEMENT_ANY_SKIP,
	STATEMENT_CLEAR_PINNED,
	STATEMENT_COUNT_DIFFERED,
	STATEMENT_DOUBT_DIRECTORIES,
	STATEMENT_DROP_HOLDERS,
	STATEMENT_DROP_OLD_PASSES,
	STATEMENT_GET_CONTENT_BYTES,
	STATEMENT_GET_EARLIER_TOTAL,
	STATEMENT_GET_TOTAL,
	/* Those of older stores go by the index object_id. */
	STATEMENT_FIND_INDEXED_OBJECT,
	STATEMENT_COPY_PLACES,
};

static bool scans_are_allowed(Statement statement)
{
	for (size_t i = 0; i < G_N_ELEMENTS(may_scan); i++)
		if (may_scan[i] == statement)
			return true;
	return false;
}

/* The steps of SQLite's plan that scan a whole table or sort it; NULL: none. */
static char *costly_steps(sqlite3 *database, Statement statement)
{
	g_autofree char *sql = g_strconcat("EXPLAIN QUERY PLAN ", statement_sql(statement), NULL);
	g_autoptr(GString) costly = g_string_new(NULL);
	sqlite3_stmt *plan = NULL;

	g_assert_cmpint(sqlite3_prepare_v2(database, sql, -1, &plan, NULL), ==, SQLITE_OK);
	while (sqlite3_step(plan) == SQLITE_ROW) {
		const char *step = (const char *)sqlite3_column_text(plan, 3);

		if (strstr(step, "SCAN") || strstr(step, "TEMP B-TREE"))
			g_string_append_printf(costly, " %s;", step);
	}
	sqlite3_finalize(plan);
	return costly->len > 0 ? g_strdup(costly->str) : NULL;
}

static void test_each_statement_goes_by_an_index(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	sqlite3 *database = NULL;

	hash_store_close(store_fixture_open(fixture));
	g_assert_cmpint(sqlite3_open_v2(fixture->path, &database, SQLITE_OPEN_READONLY, NULL), ==,
			SQLITE_OK);
	for (Statement statement = 0; statement < N_STATEMENTS; statement++) {
		g_autofree char *costly = costly_steps(database, statement);

		if (costly && !scans_are_allowed(statement)) {
			g_test_message("%s:%s", statement_sql(statement), costly);
			g_test_fail();
		}
	}
	sqlite3_close(database);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/statements/each-goes-by-an-index", test_each_statement_goes_by_an_index);
	return g_test_run();
}
