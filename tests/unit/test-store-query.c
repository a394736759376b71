/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/store-query.h"

#include "hashstore/objects/history.h"
#include "tests/unit/pass-fixture.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

static const atomic_bool go_on;

/* Put @n passes, and close the store. */
static void put_passes(PassFixture *fixture, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		g_auto(PassRecord) record = { .started_usec = i, .mount_point = g_strdup("/srv") };

		g_assert_true(hash_store_put_pass(fixture->pass.store, &record, NULL));
	}
	g_assert_true(hash_store_commit(fixture->pass.store, NULL));
	g_clear_pointer(&fixture->opener, file_opener_free);
	g_clear_pointer(&fixture->pass.store, hash_store_close);
}

static char *store_path(const PassFixture *fixture)
{
	g_autofree char *name = g_strconcat("state/", fixture->filesystem.uuid, ".sqlite", NULL);

	return scratch_path(fixture->scratch, name);
}

static char *ask(const PassFixture *fixture, StoreQueryKind kind, GError **error)
{
	return store_query_run(fixture->settings.state_directory, fixture->filesystem.uuid, kind,
			       &go_on, error);
}

static void test_the_history_has_a_line_of_each_pass(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	put_passes(fixture, 2);
	text = ask(fixture, STORE_QUERY_HISTORY, &error);
	g_assert_no_error(error);
	lines = g_strsplit(text, "\n", -1);
	g_assert_cmpuint(g_strv_length(lines), ==, 3);
	g_assert_nonnull(strstr(lines[0], "\"started_usec\":1,"));
	g_assert_nonnull(strstr(lines[1], "\"started_usec\":0,"));
	g_assert_cmpstr(lines[2], ==, "");
}

static void test_without_a_store_the_history_is_empty(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autofree char *path = store_path(fixture);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	put_passes(fixture, 0);
	g_assert_cmpint(unlink(path), ==, 0);
	text = ask(fixture, STORE_QUERY_HISTORY, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(text, ==, "");
}

/* Overwrite the page of @table that its rows begin with. */
static void damage(const char *path, const char *table)
{
	g_autofree char *query =
		g_strdup_printf("SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size"
				" WHERE name = '%s'",
				table);
	sqlite3 *database = NULL;
	sqlite3_stmt *row = NULL;
	int64_t page, page_bytes;
	uint8_t junk[512];
	int fd;

	g_assert_cmpint(sqlite3_open(path, &database), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(database, query, -1, &row, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(row), ==, SQLITE_ROW);
	page = sqlite3_column_int64(row, 0);
	page_bytes = sqlite3_column_int64(row, 1);
	sqlite3_finalize(row);
	sqlite3_close(database);

	memset(junk, 0xff, sizeof(junk));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	g_assert_cmpint(pwrite(fd, junk, sizeof(junk), (page - 1) * page_bytes), ==, sizeof(junk));
	close(fd);
}

static void test_of_a_damaged_store_nothing_is_told(void)
{
	static const struct {
		const char *table;
		StoreQueryKind kind;
	} cases[] = {
		{ "pass", STORE_QUERY_HISTORY },
		{ "skipped", STORE_QUERY_SKIPPED },
		{ "skipped", STORE_QUERY_SKIPPED_TOTALS },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(PassFixture) fixture = pass_fixture_new();
		g_autofree char *path = store_path(fixture);
		g_autoptr(GError) error = NULL;

		put_passes(fixture, 2);
		damage(path, cases[i].table);
		g_assert_null(ask(fixture, cases[i].kind, &error));
		g_assert_error(error, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store-query/history", test_the_history_has_a_line_of_each_pass);
	g_test_add_func("/store-query/absent", test_without_a_store_the_history_is_empty);
	g_test_add_func("/store-query/damaged", test_of_a_damaged_store_nothing_is_told);
	return g_test_run();
}
