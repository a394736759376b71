/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/anchor-page.h"
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/objects.h"
#include "hashstore/store-check.h"
#include "tests/store/store-fixture.h"

#include <sys/stat.h>

/* With the least memory, a merge of these anchors has four parts. */
#define OBJECTS      8
#define ANCHORS_EACH 250000
#define ANCHORS      (OBJECTS * ANCHORS_EACH)
#define NEW_ANCHORS  100
#define DIGEST_STEP  UINT64_C(0x9e3779b97f4a7c15)
#define PART_BYTES   (UINT64_C(4) << 20)

/* A store whose is_live callback stops it, or looks at its files, after some objects. */
typedef struct {
	StoreFixture *fixture;
	HashStore *store;
	atomic_bool stop;
	unsigned questions;
	unsigned stop_after;
	uint64_t peak_bytes; /* of all files, at one time */
} Large;

static void put_object(Large *large, uint32_t n)
{
	Object object = { .name = (const uint8_t *)"name", .name_bytes = 4 };
	GError *error = NULL;

	g_assert_true(hash_store_new_object(large->store, &object.id, &error));
	object.inode = 255 + object.id;
	g_assert_true(hash_store_put(large->store, &object, &error));
	for (uint32_t i = 0; i < n; i++) {
		const Anchor anchor = { (i + 1) * DIGEST_STEP, object.id, i };

		g_assert_true(hash_store_put_anchor(large->store, &anchor, &error));
	}
	g_assert_no_error(error);
}

static void commit(Large *large)
{
	GError *error = NULL;

	g_assert_true(hash_store_commit(large->store, &error));
	g_assert_no_error(error);
}

/* A store whose objects have equal anchors. */
static Large *large_new(void)
{
	Large *large = g_new0(Large, 1);

	large->fixture = store_fixture_new();
	large->fixture->options.stop = &large->stop;
	large->store = store_fixture_open(large->fixture);
	for (int i = 0; i < OBJECTS; i++)
		put_object(large, ANCHORS_EACH);
	commit(large);

	return large;
}

static void large_free(Large *large)
{
	hash_store_close(large->store);
	store_fixture_free(large->fixture);
	g_free(large);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Large, large_free)

static uint64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static bool is_live(uint32_t object, void *data)
{
	Large *large = data;

	if (large->questions++ == large->stop_after)
		atomic_store(&large->stop, true);
	if (large->questions % 4096 == 0) {
		g_autofree char *wal = g_strconcat(large->fixture->path, "-wal", NULL);

		large->peak_bytes =
			MAX(large->peak_bytes, file_bytes(large->fixture->path) + file_bytes(wal));
	}

	return true;
}

static void settle(Large *large, unsigned stop_after)
{
	GError *error = NULL;

	atomic_store(&large->stop, false);
	large->questions = 0;
	large->stop_after = stop_after;
	g_assert_true(hash_store_settle(large->store, is_live, large, &error));
	g_assert_no_error(error);
	g_assert_true(atomic_load(&large->stop) == (stop_after != UINT_MAX));
	atomic_store(&large->stop, false);
	commit(large);
}

static void reopen(Large *large)
{
	g_clear_pointer(&large->store, hash_store_close);
	large->store = store_fixture_open(large->fixture);
}

static void assert_sound(const char *path)
{
	GError *error = NULL;
	g_autoptr(HashStore) store = hash_store_open_to_read(path, &error);
	g_autoptr(GPtrArray) problems = NULL;

	g_assert_no_error(error);
	g_assert_true(hash_store_check(store, &problems, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(problems->len, ==, 0);
}

static uint32_t count_segments(const Large *large, uint64_t anchors)
{
	uint64_t found;
	uint32_t segments;

	g_assert_true(hash_store_count_anchors(large->store, &found, &segments, NULL));
	g_assert_cmpuint(found, ==, anchors);
	return segments;
}

/* Count groups, which all have @n_members. */
static unsigned count_groups(Large *large, size_t n_members)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = groups_open(large->store, store_fixture_all_live, NULL, &error);

	for (unsigned n = 0;; n++) {
		const Group *group;

		g_assert_true(groups_next(groups, &group, &error));
		g_assert_no_error(error);
		if (!group)
			return n;
		g_assert_cmpuint(group->n_members, ==, n_members);
	}
}

static void test_a_merge_that_is_stopped_keeps_the_parts_that_were_done(void)
{
	static const unsigned stops[] = { 100000, 800000, 1500000, 1900000 };
	g_autoptr(Large) large = large_new();
	uint32_t segments = count_segments(large, ANCHORS);
	bool is_partial = false;

	for (size_t i = 0; i < G_N_ELEMENTS(stops); i++) {
		settle(large, stops[i]);
		is_partial |= count_segments(large, ANCHORS) != segments;
		assert_sound(large->fixture->path);
		g_assert_cmpuint(count_groups(large, OBJECTS), ==, ANCHORS_EACH);
		reopen(large);
		assert_sound(large->fixture->path);
	}
	g_assert_true(is_partial);

	settle(large, UINT_MAX);
	g_assert_cmpuint(count_segments(large, ANCHORS), ==, 1);
	reopen(large);
	assert_sound(large->fixture->path);
}

static void drop_dead(Large *large, unsigned stop_after)
{
	GError *error = NULL;

	large->questions = 0;
	large->stop_after = stop_after;
	large->peak_bytes = 0;
	g_assert_true(hash_store_drop_dead(large->store, is_live, large, &error));
	g_assert_no_error(error);
	atomic_store(&large->stop, false);
	commit(large);
}

static void test_a_merge_takes_space_for_a_part(void)
{
	g_autoptr(Large) large = large_new();
	uint64_t content_bytes;

	settle(large, UINT_MAX);
	put_object(large, ANCHORS_EACH);
	settle(large, UINT_MAX);
	reopen(large);
	content_bytes = file_bytes(large->fixture->path);
	g_assert_cmpuint(content_bytes, >, 3 * PART_BYTES);

	drop_dead(large, UINT_MAX);
	g_assert_cmpuint(count_segments(large, ANCHORS + ANCHORS_EACH), ==, 1);
	/* It is in the WAL and, except for what its sources had there, in the database. */
	g_assert_cmpuint(large->peak_bytes, <, content_bytes + PART_BYTES);
}

static void test_new_anchors_are_looked_up_in_what_is_merged_in_part(void)
{
	g_autoptr(Large) large = large_new();

	settle(large, UINT_MAX);
	put_object(large, ANCHORS_EACH);
	settle(large, UINT_MAX);
	g_assert_cmpuint(count_segments(large, ANCHORS + ANCHORS_EACH), ==, 2);

	drop_dead(large, 1000000);
	g_assert_cmpuint(count_segments(large, ANCHORS + ANCHORS_EACH), ==, 3);

	put_object(large, NEW_ANCHORS);
	commit(large);
	g_assert_cmpuint(count_groups(large, OBJECTS + 2), ==, NEW_ANCHORS);
	assert_sound(large->fixture->path);
}

static void test_a_store_that_forgets_all_forgets_how_far_segments_were_merged(void)
{
	g_autoptr(Large) large = large_new();
	GError *error = NULL;

	settle(large, 1500000);
	g_assert_true(hash_store_forget_all(large->store, &error));
	g_assert_no_error(error);
	commit(large);
	assert_sound(large->fixture->path);

	/* New segments have the ids of former ones. */
	for (int i = 0; i < 60; i++) {
		put_object(large, 1000);
		commit(large);
	}
	g_assert_cmpuint(count_groups(large, 60), ==, 1000);
	assert_sound(large->fixture->path);
}

/* Make the store have one page, of @anchors. */
static void replace_page(const StoreFixture *fixture, const Anchor *anchors, unsigned n)
{
	g_autofree AnchorPage *page = g_new0(AnchorPage, 1);
	g_autoptr(GString) sql = g_string_new("DELETE FROM page; DELETE FROM fence;");

	anchor_page_begin(page);
	for (unsigned i = 0; i < n; i++)
		g_assert_true(anchor_page_add(page, &anchors[i]));
	anchor_page_seal(page);
	g_string_append_printf(sql,
			       "UPDATE segment SET anchors = %u, pages = 1, first_page = 1,"
			       " first_fence = 1, fences = x'02000000';"
			       "INSERT INTO fence VALUES (1, x'02000000');"
			       "INSERT INTO page VALUES (1, x'",
			       n);
	for (size_t i = 0; i < page->n_bytes; i++)
		g_string_append_printf(sql, "%02x", page->bytes[i]);
	g_string_append(sql, "')");
	store_fixture_sql(fixture->path, sql->str);
}

/* Some pages that were made from those of version 16 are like this. */
static void test_anchors_of_one_digest_in_any_order_are_all_merged(void)
{
	static const Anchor anchors[] = { { UINT64_C(1) << 33, 1, 1 },
					  { UINT64_C(5) << 40, 5, 1 },
					  { UINT64_C(5) << 40, 6, 1 },
					  { UINT64_C(5) << 40, 3, 1 } };
	g_autoptr(StoreFixture) fixture = store_fixture_new();
	GError *error = NULL;
	uint32_t n_segments;
	uint64_t n;

	store_fixture_fill(fixture);
	replace_page(fixture, anchors, G_N_ELEMENTS(anchors));
	assert_sound(fixture->path);
	g_autoptr(HashStore) store = store_fixture_open(fixture);
	g_assert_true(hash_store_drop_dead(store, store_fixture_all_live, NULL, &error));
	g_assert_true(hash_store_commit(store, &error));
	g_assert_true(hash_store_count_anchors(store, &n, &n_segments, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(n, ==, G_N_ELEMENTS(anchors));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/large-merge/a-merge-that-is-stopped-keeps-the-parts-that-were-done",
			test_a_merge_that_is_stopped_keeps_the_parts_that_were_done);
	g_test_add_func("/large-merge/a-merge-takes-space-for-a-part",
			test_a_merge_takes_space_for_a_part);
	g_test_add_func("/large-merge/new-anchors-are-looked-up-in-what-is-merged-in-part",
			test_new_anchors_are_looked_up_in_what_is_merged_in_part);
	g_test_add_func(
		"/large-merge/a-store-that-forgets-all-forgets-how-far-segments-were-merged",
		test_a_store_that_forgets_all_forgets_how_far_segments_were_merged);
	g_test_add_func("/large-merge/anchors-of-one-digest-in-any-order-are-all-merged",
			test_anchors_of_one_digest_in_any_order_are_all_merged);

	return g_test_run();
}
