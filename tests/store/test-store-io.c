/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/store-io.h"

#include "hashstore/anchors/groups.h"
#include "hashstore/objects/objects.h"
#include "tests/store/store-fixture.h"

#include <sys/resource.h>

#define NEW_ANCHORS 100

/* A payer that counts its calls. */
typedef struct {
	atomic_uint n_joined, n_left, n_paid;
} Payer;

static void check(bool done, GError **error)
{
	if (!done)
		g_error("%s", (*error)->message);
}

static void join(void *data)
{
	atomic_fetch_add(&((Payer *)data)->n_joined, 1);
}

static void leave(void *data)
{
	atomic_fetch_add(&((Payer *)data)->n_left, 1);
}

static void pay(void *data)
{
	atomic_fetch_add(&((Payer *)data)->n_paid, 1);
}

/* All I/O of the thread. */
static uint64_t done_by_thread(void)
{
	struct rusage usage;

	g_assert_cmpint(getrusage(RUSAGE_THREAD, &usage), ==, 0);
	return ((uint64_t)usage.ru_inblock + (uint64_t)usage.ru_oublock) * 512;
}

/* Put one more object, whose anchors others have. */
static void put_object(HashStore *store)
{
	Object object = { .inode = 1 << 20, .name = (const uint8_t *)"name", .name_bytes = 4 };
	GError *error = NULL;

	check(hash_store_new_object(store, &object.id, &error), &error);
	check(hash_store_put(store, &object, &error), &error);
	for (uint32_t i = 0; i < NEW_ANCHORS; i++) {
		Anchor anchor = { .digest = (i + 1) * 1000, .object = object.id, .block = i };

		check(hash_store_put_anchor(store, &anchor, &error), &error);
	}
	check(hash_store_commit(store, &error), &error);
}

static void test_what_a_commit_costs_is_the_stores(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	uint64_t before, all, of_store = store_io_bytes(store_io_of_thread());

	before = done_by_thread();
	store_fixture_fill(fixture);
	all = done_by_thread() - before;
	of_store = store_io_bytes(store_io_of_thread()) - of_store;
	if (all == 0) {
		g_test_skip("files there are not on a disk");
		return;
	}

	/* The rest is names and sizes of files. */
	g_assert_cmpuint(of_store, <=, all);
	g_assert_cmpuint(of_store, >=, all / 2);
}

static void test_threads_that_look_ahead_pay_with_the_others(void)
{
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	Payer payer = { 0 };
	const HashStorePayer asked = { join, leave, pay, &payer };
	g_autoptr(HashStore) store = NULL;
	g_autoptr(Groups) groups = NULL;
	const Group *group;
	GError *error = NULL;

	store_fixture_fill(fixture);
	fixture->options.payer = &asked;
	store = store_fixture_open(fixture);
	put_object(store);

	groups = groups_open(store, store_fixture_all_live, NULL, &error);
	check(groups, &error);
	do
		check(groups_next(groups, &group, &error), &error);
	while (group);

	g_assert_cmpuint(payer.n_joined, >, 1);
	g_assert_cmpuint(payer.n_joined, ==, payer.n_left);
	/* At least once per look-up. */
	g_assert_cmpuint(payer.n_paid, >, NEW_ANCHORS);
	g_clear_pointer(&groups, groups_close);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store-io/what-a-commit-costs-is-the-stores",
			test_what_a_commit_costs_is_the_stores);
	g_test_add_func("/store-io/threads-that-look-ahead-pay-with-the-others",
			test_threads_that_look_ahead_pay_with_the_others);

	return g_test_run();
}
