/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-sources.h"

#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#define KIB UINT64_C(1024)

#define SUBVOLUME UINT64_C(256)
#define INODE     UINT64_C(300)
#define OTHER     UINT64_C(301)
#define ADDRESS   UINT64_C(0x40000000)
#define BYTES     (256 * KIB)

/* Of a compressed extent. */
#define RAM_BYTES  (128 * KIB)
#define DISK_BYTES (16 * KIB)

/* A pass over a btrfs filesystem with two extents, of which the later one is the target. */
typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	Object source;
	Object target;
	ObjectTable *table;
	ExtentFiles *extent_files;
	ExtentSources *sources;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	scene->fixture = pass_fixture_new();
	scene->files = fake_files_new();
	fake_files_add_subvolume(scene->files, SUBVOLUME, false);
	pass_fixture_pose_as_btrfs(scene->fixture, FAKE_BTRFS_FD);
}

static Object put_extent(Scene *scene, uint64_t address, uint64_t size_bytes)
{
	Object extent = { .inode = address, .size_bytes = size_bytes };

	extent.id = pass_fixture_put_object(scene->fixture, &extent);
	return extent;
}

/* All files are added, and the kernel finds @refs to the extent of @size_bytes. */
static void begin(Scene *scene, uint64_t size_bytes, const BtrfsRef *refs, size_t n_refs)
{
	Pass *pass = &scene->fixture->pass;
	g_autoptr(GError) error = NULL;

	scene->source = put_extent(scene, ADDRESS, size_bytes);
	scene->target = put_extent(scene, 2 * ADDRESS, size_bytes);
	fake_files_use(scene->files);
	fake_btrfs()->refs = refs;
	fake_btrfs()->n_refs = n_refs;
	pass->subvolumes = read_only_subvolumes_new(SNAPSHOTS_AUTO);
	g_assert_true(read_only_subvolumes_read(pass->subvolumes, FAKE_BTRFS_FD, &error));
	pass->btrfs.scope =
		extent_scope_new(pass->filesystem, pass->settings, NULL, NULL, pass->stop);
	g_assert_true(hash_store_commit(pass->store, &error));
	scene->table = object_table_new(pass->store, RANK_BY_SIZE, pass->settings, NULL, &error);
	g_assert_no_error(error);
	scene->extent_files = extent_files_new(pass);
	scene->sources = extent_sources_new(pass, scene->table, scene->extent_files);
}

static void tear_down(Scene *scene, const void *data)
{
	Pass *pass = &scene->fixture->pass;

	extent_sources_free(scene->sources);
	extent_files_free(scene->extent_files);
	object_table_free(scene->table);
	extent_scope_free(pass->btrfs.scope);
	read_only_subvolumes_free(pass->subvolumes);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

static void test_what_lies_at_a_place_is_a_source_from_its_first_byte_on(Scene *scene,
									 const void *data)
{
	static const struct {
		uint64_t offset;
		bool is_source;
		uint64_t position;
	} cases[] = {
		{ 64 * KIB - 1, false, 0 },    { 64 * KIB, true, 8 * KIB },
		{ 100 * KIB, true, 44 * KIB }, { 192 * KIB - 1, true, 136 * KIB - 1 },
		{ 192 * KIB, false, 0 },
	};
	static const BtrfsRef refs[] = { { INODE, 64 * KIB, SUBVOLUME } };
	const FakeReference reference = {
		.root = SUBVOLUME,
		.inode = INODE,
		.offset = 64 * KIB,
		.bytenr = ADDRESS,
		.disk_bytes = BYTES,
		.ram_bytes = BYTES,
		.position = 8 * KIB,
		.length = 128 * KIB,
	};

	fake_files_add_inode(scene->files, SUBVOLUME, INODE, BYTES, 0, 1);
	fake_files_add_reference(scene->files, &reference);
	begin(scene, BYTES, refs, G_N_ELEMENTS(refs));
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const SourceBeside beside = { SUBVOLUME, INODE, cases[i].offset, false };
		g_autoptr(GError) error = NULL;
		const ExtentSource *found;
		uint64_t position;

		g_test_message("case %zu", i);
		g_assert_true(extent_sources_find_at(scene->sources, &scene->target, &beside,
						     &found, &position, &error));
		g_assert_no_error(error);
		g_assert_true((found != NULL) == cases[i].is_source);
		if (!found)
			continue;
		g_assert_cmpuint(found->object.id, ==, scene->source.id);
		g_assert_cmpuint(position, ==, cases[i].position);
	}
}

static void add_compressed(Scene *scene, uint64_t inode, uint64_t position, uint64_t length)
{
	const FakeReference reference = {
		.root = SUBVOLUME,
		.inode = inode,
		.offset = position,
		.bytenr = ADDRESS,
		.disk_bytes = DISK_BYTES,
		.ram_bytes = RAM_BYTES,
		.position = position,
		.length = length,
		.is_compressed = true,
	};

	fake_files_add_inode(scene->files, SUBVOLUME, inode, RAM_BYTES, 0, 1);
	fake_files_add_reference(scene->files, &reference);
}

static const ExtentSource *find_compressed(Scene *scene, const BtrfsRef *refs, size_t n_refs)
{
	const ExtentSource *found;
	g_autoptr(GError) error = NULL;

	fake_files_add_named_extent(scene->files, ADDRESS, DISK_BYTES, SUBVOLUME, INODE, 0);
	begin(scene, DISK_BYTES, refs, n_refs);
	g_assert_true(extent_sources_find(scene->sources, scene->source.id, 0, RAM_BYTES, &found,
					  &error));
	g_assert_no_error(error);
	g_assert_nonnull(found);
	g_assert_true(found->is_encoded);
	return found;
}

static void test_a_compressed_extent_that_its_named_file_has_whole_needs_no_other(Scene *scene,
										  const void *data)
{
	const BtrfsRef refs[] = { { INODE, 0, SUBVOLUME }, { OTHER, 0, SUBVOLUME } };
	const ExtentSource *found;

	add_compressed(scene, INODE, 0, RAM_BYTES);
	add_compressed(scene, OTHER, 0, RAM_BYTES);
	found = find_compressed(scene, refs, G_N_ELEMENTS(refs));
	g_assert_true(found->is_named);
	g_assert_cmpuint(found->places->len, ==, 1);
	g_assert_cmpuint(g_array_index(found->places, ExtentRef, 0).inode, ==, INODE);
}

static void test_of_a_compressed_extent_a_file_is_found_that_has_it_whole(Scene *scene,
									  const void *data)
{
	static const struct {
		uint64_t position, length;
	} parts[] = {
		{ 0, RAM_BYTES - 4 * KIB },
		{ 4 * KIB, RAM_BYTES - 4 * KIB },
	};
	size_t i = GPOINTER_TO_UINT(data);
	const BtrfsRef refs[] = { { INODE, parts[i].position, SUBVOLUME },
				  { OTHER, 0, SUBVOLUME } };
	const ExtentSource *found;

	add_compressed(scene, INODE, parts[i].position, parts[i].length);
	add_compressed(scene, OTHER, 0, RAM_BYTES);
	found = find_compressed(scene, refs, G_N_ELEMENTS(refs));
	g_assert_false(found->is_named);
	g_assert_cmpuint(g_array_index(found->places, ExtentRef, found->places->len - 1).inode, ==,
			 OTHER);
}

static void test_a_place_in_a_file_follows_from_its_reference(void)
{
	static const struct {
		uint64_t place_offset, place_position, position;
		bool is_beside, is_source;
		uint64_t offset;
	} cases[] = {
		/* The reference begins in the middle of the extent, and its file has data before it. */
		{ 100 * KIB, 60 * KIB, 60 * KIB, true, true, 100 * KIB },
		{ 100 * KIB, 60 * KIB, 64 * KIB, true, true, 104 * KIB },
		{ 100 * KIB, 60 * KIB, 20 * KIB, true, false, 60 * KIB },
		{ 100 * KIB, 60 * KIB, 76 * KIB, true, false, 116 * KIB },
		/* The extent would begin before the file. */
		{ 40 * KIB, 60 * KIB, 20 * KIB, true, false, 0 },
		{ 40 * KIB, 60 * KIB, 16 * KIB, false, false, 0 },
		{ 0, 0, 200 * KIB, true, false, 200 * KIB },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GArray) places = g_array_new(false, false, sizeof(ExtentRef));
		ExtentSource source = { .places = places };
		const ExtentRef place = {
			.root = 5,
			.inode = 300,
			.offset = cases[i].place_offset,
			.position = cases[i].place_position,
			.length = 16 * KIB,
		};
		SourceBeside beside;

		g_array_append_val(places, place);
		g_test_message("case %zu", i);
		g_assert_cmpuint(extent_source_besides(&source, cases[i].position, &beside, 1), ==,
				 cases[i].is_beside);
		if (!cases[i].is_beside)
			continue;
		g_assert_cmpuint(beside.root, ==, 5);
		g_assert_cmpuint(beside.inode, ==, 300);
		g_assert_cmpuint(beside.offset, ==, cases[i].offset);
		g_assert_true(beside.is_source == cases[i].is_source);
	}
}

static void test_references_that_show_one_place_count_once(void)
{
	static const ExtentRef refs[] = {
		{ .root = 5, .inode = 300, .offset = 100 * KIB, .position = 0, .length = 16 * KIB },
		/* The same file and offset of another subvolume, which may be a snapshot. */
		{ .root = 6, .inode = 300, .offset = 100 * KIB, .position = 0, .length = 16 * KIB },
		/* The next part of the same place. */
		{ .root = 5,
		  .inode = 300,
		  .offset = 116 * KIB,
		  .position = 16 * KIB,
		  .length = 16 * KIB },
		/* Another file, and another place in the first one. */
		{ .root = 5, .inode = 301, .offset = 100 * KIB, .position = 0, .length = 16 * KIB },
		{ .root = 5, .inode = 300, .offset = 200 * KIB, .position = 0, .length = 16 * KIB },
	};
	g_autoptr(GArray) places = g_array_new(false, false, sizeof(ExtentRef));
	ExtentSource source = { .places = places };
	SourceBeside besides[G_N_ELEMENTS(refs)];

	g_array_append_vals(places, refs, G_N_ELEMENTS(refs));
	g_assert_cmpuint(extent_source_besides(&source, 20 * KIB, besides, G_N_ELEMENTS(besides)),
			 ==, 4);
	g_assert_cmpuint(besides[0].root, ==, 5);
	g_assert_cmpuint(besides[0].offset, ==, 120 * KIB);
	g_assert_true(besides[0].is_source);
	g_assert_cmpuint(besides[1].root, ==, 6);
	g_assert_false(besides[1].is_source);
	g_assert_cmpuint(besides[2].inode, ==, 301);
	g_assert_cmpuint(besides[3].offset, ==, 220 * KIB);
}

static bool find_again(void *data, GError **error)
{
	const SourceBeside beside = { SUBVOLUME, INODE, 0, false };
	Scene *scene = data;
	g_autoptr(ExtentSources) sources =
		extent_sources_new(&scene->fixture->pass, scene->table, scene->extent_files);
	const ExtentSource *found;
	uint64_t position;

	return extent_sources_find(sources, scene->source.id, 0, RAM_BYTES, &found, error) &&
	       extent_sources_find_at(sources, &scene->target, &beside, &found, &position, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	const BtrfsRef refs[] = { { INODE, 0, SUBVOLUME }, { OTHER, 0, SUBVOLUME } };

	add_compressed(scene, INODE, 0, RAM_BYTES);
	add_compressed(scene, OTHER, 0, RAM_BYTES);
	begin(scene, DISK_BYTES, refs, G_N_ELEMENTS(refs));
	failing_store_try(scene->fixture->pass.store, find_again, scene);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/extent-sources/a-place-in-a-file-follows-from-its-reference",
			test_a_place_in_a_file_follows_from_its_reference);
	g_test_add_func("/extent-sources/references-that-show-one-place-count-once",
			test_references_that_show_one_place_count_once);
#define ADD(name, data, test)                                                                      \
	g_test_add("/extent-sources/" name, Scene, data, set_up, test, tear_down)
	ADD("what-lies-at-a-place-is-a-source-from-its-first-byte-on", NULL,
	    test_what_lies_at_a_place_is_a_source_from_its_first_byte_on);
	ADD("a-compressed-extent-that-its-named-file-has-whole-needs-no-other", NULL,
	    test_a_compressed_extent_that_its_named_file_has_whole_needs_no_other);
	ADD("of-a-compressed-extent-a-file-is-found-that-has-it-whole/end", GUINT_TO_POINTER(0),
	    test_of_a_compressed_extent_a_file_is_found_that_has_it_whole);
	ADD("of-a-compressed-extent-a-file-is-found-that-has-it-whole/begin", GUINT_TO_POINTER(1),
	    test_of_a_compressed_extent_a_file_is_found_that_has_it_whole);
	ADD("errors-are-passed-on", NULL, test_errors_are_passed_on);

	return g_test_run();
}
