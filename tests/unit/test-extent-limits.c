/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/find/extent-limits.h"

#include "daemon/btrfs/find/stretch.h"
#include "hashstore/database/notes.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#include <linux/btrfs_tree.h>

#define KIB  UINT64_C(1024)
#define DAY  (INT64_C(86400) * G_USEC_PER_SEC)
#define ROOT ((uint64_t)BTRFS_FS_TREE_OBJECTID)

/* The limit of the pass: smaller files are not part of it. */
#define LEAST       (64 * KIB)
#define LARGE       UINT64_C(300)
#define LARGE_BYTES (128 * KIB)
#define SMALL       UINT64_C(301)
#define SMALL_BYTES (32 * KIB)

/* Three extents: of the large file, of the small one, and of both. */
#define ADDRESS   UINT64_C(0x40000000)
#define OF_LARGE  ADDRESS
#define OF_SMALL  (2 * ADDRESS)
#define OF_BOTH   (3 * ADDRESS)
#define EXTENT    (16 * KIB)
#define MOST_KEPT 4096

#define NOTE "btrfs-limits"

typedef struct {
	PassFixture *fixture;
	Pass *pass;
	FakeFiles *files;
	ObjectTable *table;
} Scene;

static void add_reference(Scene *scene, uint64_t inode, uint64_t offset, uint64_t bytenr)
{
	const FakeReference reference = {
		.root = ROOT,
		.inode = inode,
		.offset = offset,
		.bytenr = bytenr,
		.disk_bytes = EXTENT,
		.ram_bytes = EXTENT,
		.length = EXTENT,
	};

	fake_files_add_reference(scene->files, &reference);
}

static void set_limit(Scene *scene, uint64_t min_size_bytes)
{
	Pass *pass = scene->pass;

	g_clear_pointer(&pass->btrfs.scope, extent_scope_free);
	g_clear_pointer(&pass->filter, filter_free);
	scene->fixture->settings.min_size_bytes = min_size_bytes;
	pass->filter = filter_new(NULL, min_size_bytes);
	pass->btrfs.scope =
		extent_scope_new(pass->filesystem, pass->settings, pass->filter, NULL, pass->stop);
}

static void set_up(Scene *scene, const void *data)
{
	static const BtrfsRef refs[] = { { LARGE, 0, ROOT },
					 { LARGE, EXTENT, ROOT },
					 { SMALL, 0, ROOT },
					 { SMALL, EXTENT, ROOT } };

	scene->fixture = pass_fixture_new();
	scene->pass = &scene->fixture->pass;
	scene->pass->postponed = postponed_new();
	scene->files = fake_files_new();
	pass_fixture_pose_as_btrfs(scene->fixture, FAKE_BTRFS_FD);
	fake_files_add_subvolume(scene->files, ROOT, false);
	fake_files_add_inode(scene->files, ROOT, LARGE, LARGE_BYTES, 0, 1);
	fake_files_add_inode(scene->files, ROOT, SMALL, SMALL_BYTES, 0, 1);
	add_reference(scene, LARGE, 0, OF_LARGE);
	add_reference(scene, LARGE, EXTENT, OF_BOTH);
	add_reference(scene, SMALL, 0, OF_SMALL);
	add_reference(scene, SMALL, EXTENT, OF_BOTH);
	fake_files_use(scene->files);
	fake_btrfs()->refs = refs;
	fake_btrfs()->n_refs = G_N_ELEMENTS(refs);
	set_limit(scene, LEAST);
}

static void tear_down(Scene *scene, const void *data)
{
	g_clear_pointer(&scene->table, object_table_free);
	extent_scope_free(scene->pass->btrfs.scope);
	filter_free(scene->pass->filter);
	postponed_free(scene->pass->postponed);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

/* A file without checksums is an object of its own. */
static uint32_t put_file(Scene *scene, uint64_t size_bytes)
{
	return pass_fixture_put_object(scene->fixture,
				       &(Object){ .subvolume = ROOT, .size_bytes = size_bytes });
}

static uint32_t put_extent(Scene *scene, uint64_t address)
{
	return pass_fixture_put_object(scene->fixture,
				       &(Object){ .inode = address, .size_bytes = EXTENT });
}

/* The stretch of the small file's first @n_extents extents. */
static uint32_t put_stretch(Scene *scene, uint32_t key, unsigned n_extents)
{
	const StretchPart parts[] = { { 0, EXTENT, OF_SMALL, EXTENT, 0 },
				      { EXTENT, EXTENT, OF_BOTH, EXTENT, 0 } };
	const Stretch stretch = {
		.key = key, .root = ROOT, .inode = SMALL, .parts = parts, .n_parts = n_extents
	};
	const Object row = stretch_object(&stretch);

	return pass_fixture_put_object(scene->fixture, &row);
}

/* Have the objects look equal, by one anchor each. */
static void make_equal(Scene *scene, uint64_t digest, const uint32_t *objects, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pass_fixture_put_anchor(scene->fixture, digest, objects[i], 0);
}

static void read_table(Scene *scene)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(hash_store_commit(scene->pass->store, &error));
	g_clear_pointer(&scene->table, object_table_free);
	scene->table = object_table_new(scene->pass->store, RANK_BY_SIZE, scene->pass->settings,
					NULL, &error);
	g_assert_no_error(error);
}

static void apply(Scene *scene)
{
	g_autoptr(GError) error = NULL;

	read_table(scene);
	g_assert_true(extent_limits_apply(scene->pass, scene->table, &error));
	g_assert_no_error(error);
}

static void mark(Scene *scene)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(extent_limits_mark(scene->pass, scene->table, &error));
	g_assert_no_error(error);
}

/* Of these facts the object has exactly @expected. */
static void assert_facts(const Scene *scene, uint32_t object, unsigned facts, unsigned expected)
{
	g_assert_cmphex(object_table_facts(scene->table, object) & facts, ==, expected);
}

#define FACTS_OF_PLACES (FACT_PLACED | FACT_OUTSIDE | FACT_AWAY)

static void test_what_looks_equal_is_placed(Scene *scene, const void *data)
{
	const uint32_t equals[] = {
		put_file(scene, LEAST),      put_file(scene, LEAST - 1),
		put_extent(scene, OF_LARGE), put_extent(scene, OF_SMALL),
		put_extent(scene, OF_BOTH),  put_stretch(scene, 700, 1),
		put_stretch(scene, 701, 2),
	};
	static const unsigned expected[] = {
		0, FACT_AWAY, 0, FACT_AWAY, FACT_OUTSIDE, FACT_AWAY, 0
	};
	const uint32_t alone = put_file(scene, SMALL_BYTES);

	make_equal(scene, 10, equals, G_N_ELEMENTS(equals));
	make_equal(scene, 20, &alone, 1);
	/* Twice in itself. */
	pass_fixture_put_anchor(scene->fixture, 20, alone, 5);
	apply(scene);
	for (size_t i = 0; i < G_N_ELEMENTS(equals); i++)
		assert_facts(scene, equals[i], FACTS_OF_PLACES, FACT_PLACED | expected[i]);
	assert_facts(scene, alone, FACTS_OF_PLACES, 0);

	/* Without limits nothing is looked up. */
	set_limit(scene, SETTINGS_MIN_SIZE_UNSET);
	apply(scene);
	mark(scene);
	for (size_t i = 0; i < G_N_ELEMENTS(equals); i++)
		assert_facts(scene, equals[i], FACTS_OF_PLACES | FACT_LIMITED, 0);
}

/* A stretch stands for its extents, which have no anchor here. */
static void test_extents_of_a_stretch_are_placed(Scene *scene, const void *data)
{
	uint32_t of_small = put_extent(scene, OF_SMALL);
	uint32_t of_both = put_extent(scene, OF_BOTH);
	uint32_t unrelated = put_extent(scene, OF_LARGE);
	const uint32_t equals[] = { put_stretch(scene, 700, 2), put_file(scene, LEAST) };

	make_equal(scene, 10, equals, G_N_ELEMENTS(equals));
	apply(scene);
	assert_facts(scene, of_small, FACTS_OF_PLACES, FACT_PLACED | FACT_AWAY);
	assert_facts(scene, of_both, FACTS_OF_PLACES, FACT_PLACED | FACT_OUTSIDE);
	assert_facts(scene, unrelated, FACTS_OF_PLACES, 0);

	mark(scene);
	assert_facts(scene, of_small, FACT_LIMITED, FACT_LIMITED);
	assert_facts(scene, of_both, FACT_LIMITED, FACT_LIMITED);
	assert_facts(scene, equals[0], FACT_LIMITED, FACT_LIMITED);
	assert_facts(scene, unrelated, FACT_LIMITED, 0);
}

/* Others would keep the new extent.  So those that were sources so far have to be its targets. */
static void test_a_new_source_that_is_no_target_unsettles_its_equals(Scene *scene, const void *data)
{
	bool is_outside = GPOINTER_TO_INT(data);
	const uint32_t old[] = { put_file(scene, LEAST), put_file(scene, SMALL_BYTES) };
	uint32_t other = put_file(scene, LEAST), new;

	make_equal(scene, 10, old, G_N_ELEMENTS(old));
	make_equal(scene, 20, &other, 1);
	pass_fixture_settle(scene->fixture);
	new = put_extent(scene, is_outside ? OF_BOTH : OF_LARGE);
	make_equal(scene, 10, &new, 1);
	apply(scene);
	assert_facts(scene, old[0], FACT_SETTLED, is_outside ? 0 : FACT_SETTLED);
	assert_facts(scene, old[1], FACT_SETTLED, FACT_SETTLED);
	assert_facts(scene, other, FACT_SETTLED, FACT_SETTLED);
}

static void test_what_the_limits_keep_from_sharing_is_marked_and_counted(Scene *scene,
									 const void *data)
{
	const uint32_t kept[] = { put_file(scene, LEAST), put_file(scene, SMALL_BYTES) };
	const uint32_t inside[] = { put_file(scene, LEAST), put_file(scene, LEAST + 1) };
	const uint32_t outside[] = { put_file(scene, LEAST), put_extent(scene, OF_BOTH) };
	const SkipEntry *skipped = &scene->fixture->result.skips.entries[SKIP_SMALL];

	make_equal(scene, 10, kept, G_N_ELEMENTS(kept));
	make_equal(scene, 20, inside, G_N_ELEMENTS(inside));
	make_equal(scene, 30, outside, G_N_ELEMENTS(outside));
	/* By another anchor, too. */
	make_equal(scene, 40, kept, G_N_ELEMENTS(kept));
	apply(scene);
	mark(scene);
	for (size_t i = 0; i < 2; i++) {
		assert_facts(scene, kept[i], FACT_LIMITED, FACT_LIMITED);
		assert_facts(scene, inside[i], FACT_LIMITED, 0);
		assert_facts(scene, outside[i], FACT_LIMITED, FACT_LIMITED);
	}
	g_assert_cmpuint(skipped->count, ==, 2);
	g_assert_cmpuint(skipped->bytes, ==, SMALL_BYTES + EXTENT);
}

static void test_zeros_need_no_equal(Scene *scene, const void *data)
{
	const uint32_t zeros[] = { put_file(scene, LEAST), put_file(scene, SMALL_BYTES) };
	const SkipEntry *skipped = &scene->fixture->result.skips.entries[SKIP_SMALL];

	make_equal(scene, ANCHOR_ZEROS_DIGEST, zeros, G_N_ELEMENTS(zeros));
	scene->fixture->settings.zeros = ZEROS_KEEP;
	apply(scene);
	mark(scene);
	assert_facts(scene, zeros[1], FACT_PLACED | FACT_LIMITED, 0);

	scene->fixture->settings.zeros = ZEROS_AUTO;
	apply(scene);
	mark(scene);
	assert_facts(scene, zeros[0], FACT_PLACED | FACT_LIMITED, FACT_PLACED);
	assert_facts(scene, zeros[1], FACT_PLACED | FACT_LIMITED, FACT_PLACED | FACT_LIMITED);
	g_assert_cmpuint(skipped->count, ==, 1);
	g_assert_cmpuint(skipped->bytes, ==, SMALL_BYTES);
}

static char *read_note(const Scene *scene)
{
	char *note = NULL;

	g_assert_true(hash_store_get_note(scene->pass->store, NOTE, &note, NULL));
	return note;
}

static void keep(Scene *scene)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(extent_limits_keep(scene->pass, scene->table, &error));
	g_assert_no_error(error);
}

/* If they are many, the limits are noted instead. */
static void test_a_few_marked_objects_stay_unsettled(Scene *scene, const void *data)
{
	g_autofree char *limits = extent_scope_limits(scene->pass->btrfs.scope);
	g_autofree char *expected = g_strdup_printf("20 %s", limits);
	g_autofree char *none = NULL;
	g_autofree char *note = NULL;
	g_autofree char *later = NULL;
	uint32_t settled = put_file(scene, LEAST);
	uint32_t first, unmarked, stretch, last;

	pass_fixture_settle(scene->fixture);
	unmarked = put_file(scene, LEAST);
	stretch = put_stretch(scene, 700, 1);
	first = put_file(scene, LEAST);
	for (unsigned i = 1; i < MOST_KEPT; i++)
		last = put_file(scene, LEAST);
	read_table(scene);
	object_table_add_fact(scene->table, settled, FACT_LIMITED);
	object_table_add_fact(scene->table, stretch, FACT_LIMITED);
	for (uint32_t object = first; object <= last; object++)
		object_table_add_fact(scene->table, object, FACT_LIMITED);
	keep(scene);
	none = read_note(scene);
	g_assert_null(none);
	g_assert_true(postponed_has(scene->pass->postponed, first));
	g_assert_true(postponed_has(scene->pass->postponed, last));
	g_assert_false(postponed_has(scene->pass->postponed, unmarked));
	g_assert_false(postponed_has(scene->pass->postponed, stretch));

	/* One more. */
	postponed_free(scene->pass->postponed);
	scene->pass->postponed = postponed_new();
	object_table_add_fact(scene->table, unmarked, FACT_LIMITED);
	scene->fixture->result.started_usec = 20 * DAY;
	keep(scene);
	note = read_note(scene);
	g_assert_cmpstr(note, ==, expected);
	g_assert_false(postponed_has(scene->pass->postponed, first));

	/* The day of the first one stays. */
	scene->fixture->result.started_usec = 22 * DAY;
	keep(scene);
	later = read_note(scene);
	g_assert_cmpstr(later, ==, expected);
}

static void
test_settled_objects_are_matched_again_when_the_limits_change_or_after_a_week(Scene *scene,
									      const void *data)
{
	static const struct {
		int day;
		uint64_t least;
		bool is_unsettled;
	} cases[] = {
		{ 20, LEAST, false }, { 26, LEAST, false },    { 27, LEAST, true },
		{ 19, LEAST, true },  { 20, LEAST + 1, true },
	};
	g_autofree char *limits = extent_scope_limits(scene->pass->btrfs.scope);
	g_autofree char *note = g_strdup_printf("20 %s", limits);
	HashStore *store = scene->pass->store;
	g_autoptr(GError) error = NULL;

	put_file(scene, LEAST);
	pass_fixture_settle(scene->fixture);
	/* No note. */
	g_assert_true(extent_limits_begin(scene->pass, &error));
	g_assert_cmpuint(hash_store_settled_below(store), >, 1);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *left = NULL;

		g_test_message("case %zu", i);
		pass_fixture_settle(scene->fixture);
		g_assert_true(hash_store_set_note(store, NOTE, note, &error));
		set_limit(scene, cases[i].least);
		scene->fixture->result.started_usec = cases[i].day * DAY;
		g_assert_true(extent_limits_begin(scene->pass, &error));
		g_assert_no_error(error);
		g_assert_cmpint(hash_store_settled_below(store) == 1, ==, cases[i].is_unsettled);
		left = read_note(scene);
		g_assert_cmpstr(left, ==, cases[i].is_unsettled ? "" : note);
		set_limit(scene, LEAST);
	}
}

static bool begin_it(void *data, GError **error)
{
	return extent_limits_begin(data, error);
}

static bool apply_it(void *data, GError **error)
{
	Scene *scene = data;

	return extent_limits_apply(scene->pass, scene->table, error);
}

static bool mark_it(void *data, GError **error)
{
	Scene *scene = data;

	return extent_limits_mark(scene->pass, scene->table, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	const uint32_t kept[] = { put_file(scene, LEAST), put_file(scene, SMALL_BYTES),
				  put_extent(scene, OF_BOTH), put_stretch(scene, 700, 2) };

	make_equal(scene, 10, kept, G_N_ELEMENTS(kept));
	read_table(scene);
	failing_store_try(scene->pass->store, apply_it, scene);
	failing_store_try(scene->pass->store, mark_it, scene);
	g_assert_true(hash_store_set_note(scene->pass->store, NOTE, "20 others", NULL));
	failing_store_try(scene->pass->store, begin_it, scene->pass);
}

#define ADD(name, data, test)                                                                      \
	g_test_add("/extent-limits/" name, Scene, GINT_TO_POINTER(data), set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("what-looks-equal-is-placed", 0, test_what_looks_equal_is_placed);
	ADD("extents-of-a-stretch-are-placed", 0, test_extents_of_a_stretch_are_placed);
	ADD("a-new-source-that-is-no-target-unsettles-its-equals", true,
	    test_a_new_source_that_is_no_target_unsettles_its_equals);
	ADD("a-new-target-unsettles-nothing", false,
	    test_a_new_source_that_is_no_target_unsettles_its_equals);
	ADD("what-the-limits-keep-from-sharing-is-marked-and-counted", 0,
	    test_what_the_limits_keep_from_sharing_is_marked_and_counted);
	ADD("zeros-need-no-equal", 0, test_zeros_need_no_equal);
	ADD("a-few-marked-objects-stay-unsettled", 0, test_a_few_marked_objects_stay_unsettled);
	ADD("settled-objects-are-matched-again", 0,
	    test_settled_objects_are_matched_again_when_the_limits_change_or_after_a_week);
	ADD("errors-are-passed-on", 0, test_errors_are_passed_on);

	return g_test_run();
}
