/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/schema.h"
#include "tests/store/store-fixture.h"

static void test_ladder_takes_the_missing_steps_only(void)
{
	static const char *const steps[] = {
		"CREATE TABLE a (x); INSERT INTO a VALUES (1);",
		"UPDATE a SET x = x + 10;",
		"UPDATE a SET x = x * 2;",
	};
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Database) database = NULL;
	GError *error = NULL;
	int64_t x;

	g_assert_true(g_file_set_contents(fixture->path, "", 0, NULL));
	database = database_open(fixture->path, DATABASE_WRITE, &error);
	for (int n_steps = 1; n_steps <= 3; n_steps++) {
		const Schema schema = { .steps = steps,
					.n_steps = n_steps,
					.readable_from = n_steps };
		SchemaState state;

		g_assert_true(schema_examine(database, &schema, &state, &error));
		g_assert_cmpint(state, ==, n_steps == 1 ? SCHEMA_EMPTY : SCHEMA_OLDER);
		g_assert_true(schema_upgrade(database, &schema, &error));
		g_assert_true(schema_examine(database, &schema, &state, &error));
		g_assert_cmpint(state, ==, SCHEMA_CURRENT);
		g_assert_true(database_get_int(database, "SELECT x FROM a", &x, &error));
		g_assert_cmpint(x, ==, n_steps == 1 ? 1 : n_steps == 2 ? 11 : 22);
	}
	g_assert_true(database_get_int(database, "SELECT count(*) FROM a", &x, &error));
	g_assert_cmpint(x, ==, 1);
}

static void test_figures_that_older_passes_did_not_record_are_zero(void)
{
	const Schema first = { .steps = schema_current.steps, .n_steps = 1, .readable_from = 1 };
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Database) database = NULL;
	GError *error = NULL;
	int64_t figures;

	g_assert_true(g_file_set_contents(fixture->path, "", 0, NULL));
	database = database_open(fixture->path, DATABASE_WRITE, &error);
	check_done(schema_upgrade(database, &first, &error), &error);
	check_done(database_exec(database,
				 "INSERT INTO pass VALUES (1, 2, 3, 0, '/srv', 4, 5, 6, 7, 8, 9,"
				 " 10, 11, 12, 13)",
				 &error),
		   &error);
	check_done(schema_upgrade(database, &schema_current, &error), &error);
	check_done(database_get_int(database,
				    "SELECT pinned_bytes + rewritten_bytes + metadata_delta_bytes"
				    " + is_checked + drift_bytes + deferred_bytes + released_bytes"
				    " + deferred_written_bytes + used_bytes FROM pass",
				    &figures, &error),
		   &error);
	g_assert_cmpint(figures, ==, 0);
}

typedef struct {
	Database *writer;
	int n_statements;
} Maker;

static const Schema one_table = { .steps = (const char *const[]){ "CREATE TABLE a (x);" },
				  .n_steps = 1,
				  .readable_from = 1 };

/* Make the store before the second statement that the reader begins on the file. */
static int make_meanwhile(unsigned mask, void *data, void *statement, void *sql)
{
	Maker *maker = data;
	GError *error = NULL;

	if (sqlite3_stmt_readonly(statement) && ++maker->n_statements == 3) {
		g_assert_true(database_exec(maker->writer, "BEGIN", &error));
		g_assert_true(schema_upgrade(maker->writer, &one_table, &error));
		g_assert_true(database_exec(maker->writer, "COMMIT", &error));
	}
	return 0;
}

static void test_a_reader_sees_a_store_in_making_as_empty(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	g_autoptr(Database) writer = NULL, reader = NULL;
	Maker maker = { 0 };
	GError *error = NULL;
	SchemaState state;

	g_assert_true(g_file_set_contents(fixture->path, "", 0, NULL));
	writer = database_open(fixture->path, DATABASE_WRITE, &error);
	g_assert_true(database_exec(
		writer, "PRAGMA journal_mode = WAL; SELECT 1 FROM sqlite_schema", &error));
	reader = database_open(fixture->path, DATABASE_READ, &error);
	maker.writer = writer;
	sqlite3_trace_v2(reader->handle, SQLITE_TRACE_STMT, make_meanwhile, &maker);

	g_assert_true(schema_examine(reader, &one_table, &state, &error));
	g_assert_cmpint(state, ==, SCHEMA_EMPTY);
	g_assert_true(schema_examine(reader, &one_table, &state, &error));
	g_assert_cmpint(state, ==, SCHEMA_CURRENT);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/schema/ladder-takes-the-missing-steps-only",
			test_ladder_takes_the_missing_steps_only);
	g_test_add_func("/schema/figures-that-older-passes-did-not-record-are-zero",
			test_figures_that_older_passes_did_not_record_are_zero);
	g_test_add_func("/schema/a-reader-sees-a-store-in-making-as-empty",
			test_a_reader_sees_a_store_in_making_as_empty);

	return g_test_run();
}
