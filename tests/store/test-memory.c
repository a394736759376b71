/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/notes.h"
#include "hashstore/objects/holders.h"
#include "tests/store/store-fixture.h"

#include <sqlite3.h>

#define NOTE_BYTES 3000

/* SQLite's own allocator, of whose allocations one fails. */
static sqlite3_mem_methods real;
static unsigned n_allocations;
static unsigned fail_at; /* 0: none */

static bool has_memory(void)
{
	return ++n_allocations != fail_at;
}

static void *allocate(int bytes)
{
	return has_memory() ? real.xMalloc(bytes) : NULL;
}

static void *reallocate(void *old, int bytes)
{
	return has_memory() ? real.xRealloc(old, bytes) : NULL;
}

/* Before SQLite is used. */
static void take_allocator(void)
{
	sqlite3_mem_methods failing;

	g_assert_cmpint(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real), ==, SQLITE_OK);
	failing = real;
	failing.xMalloc = allocate;
	failing.xRealloc = reallocate;
	g_assert_cmpint(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing), ==, SQLITE_OK);
}

static bool write_all(HashStore *store, const char *note, GError **error)
{
	const uint64_t roots[] = { 256, 300 };
	uint64_t id;

	return hash_store_set_note(store, "note", note, error) &&
	       hash_store_put_holders(store, roots, G_N_ELEMENTS(roots), &id, error) &&
	       hash_store_commit(store, error);
}

/* From now on the allocation of this number fails. */
static void fail_allocation(unsigned number)
{
	n_allocations = 0;
	fail_at = number;
}

static bool use(HashStore *store, const char *note, GError **error)
{
	g_autofree char *found = NULL;

	if (!write_all(store, note, error) || !hash_store_get_note(store, "note", &found, error))
		return false;

	g_assert_cmpstr(found, ==, note);
	return true;
}

/* Whether the store has this note, rather than an older one or none. */
static bool has_note(const StoreFixture *fixture, const char *note)
{
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_autofree char *found = NULL;
	GError *error = NULL;

	g_assert_true(hash_store_get_note(store, "note", &found, &error));
	g_assert_no_error(error);
	g_assert_true(!found || strlen(found) >= NOTE_BYTES);
	return g_strcmp0(found, note) == 0;
}

static void expect_no_memory(const GError *error)
{
	g_test_message("%s", error->message);
	g_assert_nonnull(strstr(error->message, "memory"));
}

static void test_no_memory_while_a_store_is_made_is_an_error(void)
{
	bool is_done = false;

	/* There are thousands of allocations. */
	for (unsigned number = 1; !is_done; number += 1 + number / 8) {
		g_autoptr(StoreFixture) fixture = store_fixture_new();
		g_autoptr(HashStore) store = NULL;
		g_autoptr(GError) error = NULL;

		fail_allocation(number);
		store = hash_store_open(&fixture->options, &error);
		is_done = n_allocations < fail_at;
		fail_at = 0;
		if (!store)
			expect_no_memory(error);
		g_clear_pointer(&store, hash_store_close);
		g_assert_false(has_note(fixture, "note"));
	}
}

static void test_no_memory_while_a_store_is_changed_loses_nothing(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	bool is_done = false;

	for (unsigned number = 1; !is_done; number++) {
		g_autoptr(HashStore) store = store_fixture_open(fixture);
		g_autofree char *note = g_strnfill(NOTE_BYTES + number, 'n');
		g_autoptr(GError) error = NULL;
		bool is_written;

		fail_allocation(number);
		is_written = use(store, note, &error);
		is_done = n_allocations < fail_at;
		fail_at = 0;
		if (!is_written)
			expect_no_memory(error);
		g_clear_pointer(&store, hash_store_close);
		if (!has_note(fixture, note))
			g_assert_false(is_written);
	}
}

int main(int argc, char **argv)
{
	take_allocator();
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/memory/no-memory-while-a-store-is-made-is-an-error",
			test_no_memory_while_a_store_is_made_is_an_error);
	g_test_add_func("/memory/no-memory-while-a-store-is-changed-loses-nothing",
			test_no_memory_while_a_store_is_changed_loses_nothing);
	return g_test_run();
}
