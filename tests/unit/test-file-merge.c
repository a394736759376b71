/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/file-merge.h"

#include "hashstore/objects/stand-note.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

#include <string.h>

#define INODE     5000
#define PARENT    400
#define STAND_IN  4000
#define TODAY     UINT32_C(20000)
#define DAY_USEC  (INT64_C(24) * 60 * 60 * G_USEC_PER_SEC)
#define OTHER_DAY (TODAY - 3)

static const Stamp stamp = { 8192, 1, 2, 3 };

typedef struct {
	PassFixture *pass;
	NameBuffer *names;
	FileMerge *merge;
} Fixture;

static void set_up(Fixture *fixture, const void *data)
{
	fixture->pass = pass_fixture_new();
	fixture->pass->result.started_usec = TODAY * DAY_USEC;
	fixture->names = name_buffer_new(fixture->pass->settings.state_directory);
	fixture->merge = file_merge_new(&fixture->pass->pass, fixture->names, NULL, NULL);
}

static void tear_down(Fixture *fixture, const void *data)
{
	file_merge_free(fixture->merge);
	name_buffer_free(fixture->names);
	pass_fixture_free(fixture->pass);
}

/* Settle what the store has; merges of this pass see that. */
static void settle(Fixture *fixture)
{
	pass_fixture_settle(fixture->pass);
	file_merge_free(fixture->merge);
	fixture->merge = file_merge_new(&fixture->pass->pass, fixture->names, NULL, NULL);
}

/* A file with the stamp above. */
static Object file_of(ObjectState state, unsigned flags)
{
	return (Object){
		.subvolume = 256,
		.inode = INODE,
		.generation = 9,
		.size_bytes = stamp.size_bytes,
		.btime_nsec = stamp.btime_nsec,
		.mtime_nsec = stamp.mtime_nsec,
		.ctime_nsec = stamp.ctime_nsec,
		.state = state,
		.flags = flags,
		.parent = PARENT,
	};
}

static FileRecord seen_file(void)
{
	return (FileRecord){ .subvolume = 256, .inode = INODE, .stamp = stamp, .generation = 9 };
}

/* The row of the file; NULL: it has none. */
static const Object *row_of(const Fixture *fixture)
{
	g_autoptr(GError) error = NULL;
	const Object *row;

	g_assert_true(hash_store_find_at(fixture->pass->pass.store, 256, INODE, &row, &error));
	g_assert_no_error(error);
	return row;
}

static const Object *put(Fixture *fixture, const Object *object)
{
	pass_fixture_put_object(fixture->pass, object);
	return row_of(fixture);
}

static bool are_lost(const Fixture *fixture)
{
	bool ret;

	g_assert_true(stand_note_is_lost(fixture->pass->pass.store, &ret, NULL));
	return ret;
}

static void test_each_file_is_counted_once_and_gets_its_action(Fixture *fixture, const void *data)
{
	enum { UNCHANGED, CHANGED, DOUBTED };
	static const struct {
		ObjectState state;
		unsigned flags; /* of the row */
		unsigned rights;
		uint32_t generation;
		Stamp stamp;
		FileAction action;
		int count;
		uint64_t n_unsettled;
	} cases[] = {
		{ OBJECT_DONE, 0, 0, 9, { 8192, 1, 2, 3 }, FILE_KEPT, UNCHANGED, 1 },
		{ OBJECT_DONE, 0, 0, 0, { 8192, 1, 2, 3 }, FILE_KEPT, UNCHANGED, 1 },
		{ OBJECT_SEEN, 0, 0, 9, { 8192, 1, 2, 3 }, FILE_TO_READ, CHANGED, 0 },
		{ OBJECT_SKIPPED, 0, 0, 9, { 8192, 1, 2, 3 }, FILE_KEPT, UNCHANGED, 0 },
		{ OBJECT_HALF, 0, 0, 9, { 8192, 1, 2, 3 }, FILE_TO_READ_ON, UNCHANGED, 0 },
		/* It has other rights. */
		{ OBJECT_DONE, OBJECT_FOREIGN, 0, 9, { 8192, 1, 2, 3 }, FILE_NOTED, UNCHANGED, 1 },
		{ OBJECT_DONE, 0, OBJECT_FOREIGN, 9, { 8192, 1, 2, 3 }, FILE_NOTED, UNCHANGED, 1 },
		{ OBJECT_DONE,
		  OBJECT_FOREIGN,
		  OBJECT_FOREIGN,
		  9,
		  { 8192, 1, 2, 3 },
		  FILE_KEPT,
		  UNCHANGED,
		  1 },
		/* It changed, or is another one. */
		{ OBJECT_DONE, 0, 0, 8, { 8192, 1, 2, 3 }, FILE_TO_READ, CHANGED, 0 },
		{ OBJECT_DONE, 0, 0, 9, { 8191, 1, 2, 3 }, FILE_TO_READ, CHANGED, 0 },
		{ OBJECT_DONE, 0, 0, 9, { 8192, 1, 3, 3 }, FILE_TO_READ, CHANGED, 0 },
		{ OBJECT_DONE,
		  OBJECT_READ_SUMS,
		  0,
		  9,
		  { 8192, 1, 2, 3 },
		  FILE_TO_READ,
		  CHANGED,
		  0 },
		{ OBJECT_DONE, 0, 0, 9, { 8192, 1, 2, 4 }, FILE_DOUBTED, DOUBTED, 1 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		Object object = file_of(cases[i].state, cases[i].flags);
		FileRecord seen = seen_file();
		uint64_t n_before = file_merge_unsettled(fixture->merge);
		const PassResult *result = &fixture->pass->result;

		object.skip_reason = SKIP_SWAP_FILE;
		seen.stamp = cases[i].stamp;
		seen.rights = cases[i].rights;
		seen.generation = cases[i].generation;
		memset(&fixture->pass->result.files, 0, sizeof(result->files));
		g_test_message("case %zu", i);
		g_assert_cmpint(file_merge_judge(fixture->merge, &seen, put(fixture, &object)), ==,
				cases[i].action);
		g_assert_cmpuint(result->files.unchanged, ==, cases[i].count == UNCHANGED);
		g_assert_cmpuint(result->files.changed, ==, cases[i].count == CHANGED);
		g_assert_cmpuint(result->files.doubted, ==, cases[i].count == DOUBTED);
		g_assert_cmpuint(file_merge_unsettled(fixture->merge) - n_before, ==,
				 cases[i].n_unsettled);
	}
	file_merge_restart(fixture->merge);
	g_assert_cmpuint(file_merge_unsettled(fixture->merge), ==, 0);
}

/* A row that was written anew has all that was seen, and keeps what was read. */
static void test_a_row_is_written_anew_with_the_present_name_and_rights(Fixture *fixture,
									const void *data)
{
	static const struct {
		FileAction action;
		uint32_t doubted_day;
	} cases[] = { { FILE_NOTED, OTHER_DAY }, { FILE_DOUBTED, TODAY } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		Object object = file_of(OBJECT_DONE, OBJECT_FOREIGN | OBJECT_CLONED);
		FileRecord seen = seen_file();
		const Object *row;
		uint32_t id;

		object.digest = 1234;
		object.stand = STAND_IN;
		object.doubted_day = OTHER_DAY;
		object.changes = 5;
		seen.rights = OBJECT_IMMUTABLE;
		seen.parent = PARENT + 1;
		seen.stamp.ctime_nsec = 99;
		g_assert_true(
			name_buffer_add(fixture->names, "renamed", &seen.name_position, NULL));
		row = put(fixture, &object);
		id = row->id;
		g_assert_true(file_merge_act(fixture->merge, cases[i].action, &seen, row, NULL));

		row = row_of(fixture);
		g_assert_cmpuint(row->id, ==, id);
		g_assert_cmpuint(row->flags, ==, OBJECT_IMMUTABLE | OBJECT_CLONED);
		g_assert_cmpint(row->state, ==, OBJECT_DONE);
		g_assert_cmpuint(row->digest, ==, 1234);
		g_assert_cmpuint(row->stand, ==, STAND_IN);
		g_assert_cmpint(row->ctime_nsec, ==, 99);
		g_assert_cmpint(row->mtime_nsec, ==, stamp.mtime_nsec);
		g_assert_cmpuint(row->doubted_day, ==, cases[i].doubted_day);
		g_assert_cmpuint(row->changes, ==, 0);
		g_assert_cmpuint(row->parent, ==, PARENT + 1);
		g_assert_cmpmem(row->name, row->name_bytes, "renamed", 7);
	}
}

/* It stands for no other file, and relies on none, so that no later pass loses it once more. */
static void test_a_file_set_aside_has_no_part_in_stand_ins(Fixture *fixture, const void *data)
{
	Object object = file_of(OBJECT_DONE, OBJECT_IMMUTABLE | OBJECT_CLONED);
	const PassResult *result = &fixture->pass->result;
	g_autofree char *name = NULL;
	const Object *row;

	object.stand = STAND_IN;
	g_assert_true(stand_note_expect(fixture->pass->pass.store, NULL));
	row = put(fixture, &object);
	name = g_strndup((const char *)row->name, row->name_bytes);
	g_assert_true(file_merge_leave(fixture->merge, row, NULL));
	g_assert_cmpuint(result->files.set_aside, ==, 1);
	g_assert_true(are_lost(fixture));

	row = row_of(fixture);
	g_assert_cmpint(row->state, ==, OBJECT_SKIPPED);
	g_assert_cmpuint(row->skip_reason, ==, SKIP_CHANGES_OFTEN);
	g_assert_cmpuint(row->flags, ==, OBJECT_IMMUTABLE);
	g_assert_cmpuint(row->stand, ==, 0);
	g_assert_cmpuint(row->parent, ==, PARENT);
	g_assert_cmpmem(row->name, row->name_bytes, name, strlen(name));
	g_assert_cmpint(row->ctime_nsec, ==, stamp.ctime_nsec);

	/* It is counted when it is set aside, not each time that it is met. */
	g_assert_true(file_merge_leave(fixture->merge, row, NULL));
	g_assert_cmpuint(result->files.set_aside, ==, 1);
}

static void test_only_a_file_with_clones_is_lost_as_a_stand_in(Fixture *fixture, const void *data)
{
	Object object = file_of(OBJECT_DONE, 0);

	g_assert_true(stand_note_expect(fixture->pass->pass.store, NULL));
	g_assert_true(file_merge_leave(fixture->merge, put(fixture, &object), NULL));
	g_assert_false(are_lost(fixture));
	g_assert_true(file_merge_forget(fixture->merge, put(fixture, &object), NULL));
	g_assert_false(are_lost(fixture));

	object.flags = OBJECT_CLONED;
	g_assert_true(file_merge_forget(fixture->merge, put(fixture, &object), NULL));
	g_assert_true(are_lost(fixture));
	g_assert_null(row_of(fixture));
	g_assert_cmpuint(fixture->pass->result.files.gone, ==, 2);
}

/* Files that relied on it are read again by the next pass that sees all files. */
static void test_a_pass_that_does_not_see_all_files_leaves_a_note(Fixture *fixture,
								  const void *data)
{
	Object object = file_of(OBJECT_DONE, OBJECT_CLONED);
	FileRecord seen = seen_file();

	g_assert_true(stand_note_expect(fixture->pass->pass.store, NULL));
	g_assert_true(file_merge_list_relying(fixture->merge, false, NULL));
	g_assert_false(are_lost(fixture));

	seen.stamp.mtime_nsec++;
	g_assert_cmpint(file_merge_judge(fixture->merge, &seen, put(fixture, &object)), ==,
			FILE_TO_READ);
	g_assert_false(are_lost(fixture));
	g_assert_true(file_merge_list_relying(fixture->merge, false, NULL));
	g_assert_true(are_lost(fixture));
	g_assert_true(file_merge_finish_reading(fixture->merge, NULL));
	g_assert_true(are_lost(fixture));

	/* The next pass finds the note, sees all, and finds nobody who relied on it. */
	settle(fixture);
	g_assert_true(file_merge_begin(fixture->merge, NULL));
	g_assert_true(file_merge_list_relying(fixture->merge, true, NULL));
	g_assert_true(are_lost(fixture));
	g_assert_true(file_merge_finish_reading(fixture->merge, NULL));
	g_assert_false(are_lost(fixture));
}

/* The anchors of what was read of it may have been left out for the lost one. */
static void
test_a_half_read_file_that_relied_on_a_lost_one_is_read_from_its_beginning(Fixture *fixture,
									   const void *data)
{
	static const uint64_t stands[] = { 0, STAND_IN };
	HashStore *store = fixture->pass->pass.store;
	Object object = file_of(OBJECT_HALF, 0);

	g_assert_true(stand_note_expect(store, NULL));
	g_assert_true(stand_note_lose(store, NULL));
	g_assert_true(file_merge_begin(fixture->merge, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(stands); i++) {
		g_autoptr(GBytes) state = NULL;
		uint64_t done_blocks;
		uint32_t id;

		object.stand = stands[i];
		id = put(fixture, &object)->id;
		g_assert_true(hash_store_put_half(store, id, 9, "state", 5, NULL));
		g_assert_true(hash_store_commit(store, NULL));
		g_assert_true(file_merge_list_relying(fixture->merge, true, NULL));
		g_assert_true(hash_store_get_half(store, id, &done_blocks, &state, NULL));
		g_assert_cmpuint(done_blocks, ==, stands[i] ? 0 : 9);
		g_assert_cmpuint(g_bytes_get_size(state), ==, stands[i] ? 0 : 5);
	}
}

static void test_a_settled_file_that_may_be_a_target_again_is_matched_again(Fixture *fixture,
									    const void *data)
{
	Object object = file_of(OBJECT_DONE, OBJECT_IMMUTABLE);
	FileRecord seen = seen_file();
	uint32_t id = put(fixture, &object)->id;

	settle(fixture);
	g_assert_cmpint(file_merge_judge(fixture->merge, &seen, row_of(fixture)), ==, FILE_NOTED);
	g_assert_cmpuint(file_merge_unsettled(fixture->merge), ==, 0);
	g_assert_true(file_merge_renew_regained(fixture->merge, NULL));
	g_assert_cmpuint(file_merge_unsettled(fixture->merge), ==, 1);
	g_assert_cmpuint(row_of(fixture)->id, >, id);

	/* If it was foreign and is immutable by now, it still is none. */
	object.flags = OBJECT_FOREIGN;
	id = put(fixture, &object)->id;
	settle(fixture);
	seen.rights = OBJECT_IMMUTABLE;
	g_assert_cmpint(file_merge_judge(fixture->merge, &seen, row_of(fixture)), ==, FILE_NOTED);
	g_assert_true(file_merge_renew_regained(fixture->merge, NULL));
	g_assert_cmpuint(file_merge_unsettled(fixture->merge), ==, 0);
	g_assert_cmpuint(row_of(fixture)->id, ==, id);
}

typedef struct {
	FileMerge *merge;
	const Object *known;
	FileRecord seen;
	FileAction action;
} Merging;

static bool act_on_it(void *data, GError **error)
{
	const Merging *merging = data;

	return file_merge_act(merging->merge, merging->action, &merging->seen, merging->known,
			      error);
}

static bool leave_it(void *data, GError **error)
{
	const Merging *merging = data;

	return file_merge_leave(merging->merge, merging->known, error);
}

static bool forget_it(void *data, GError **error)
{
	const Merging *merging = data;

	return file_merge_forget(merging->merge, merging->known, error);
}

static bool begin_it(void *data, GError **error)
{
	const Merging *merging = data;

	return file_merge_begin(merging->merge, error);
}

static void test_errors_are_passed_on(Fixture *fixture, const void *data)
{
	HashStore *store = fixture->pass->pass.store;
	Object object = file_of(OBJECT_DONE, OBJECT_CLONED), known;
	g_autofree char *name = NULL;
	Merging merging = {
		.merge = fixture->merge, .known = &known, .seen = seen_file(), .action = FILE_NOTED
	};

	known = *put(fixture, &object);
	name = g_strndup((const char *)known.name, known.name_bytes);
	known.name = (const uint8_t *)name;
	g_assert_true(stand_note_expect(store, NULL));
	g_assert_true(
		name_buffer_add(fixture->names, "renamed", &merging.seen.name_position, NULL));

	failing_store_try(store, begin_it, &merging);
	failing_store_try(store, act_on_it, &merging);
	failing_store_try(store, leave_it, &merging);
	failing_store_try(store, forget_it, &merging);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/file-merge/" name, Fixture, NULL, set_up, test, tear_down)
	ADD("each-file-is-counted-once-and-gets-its-action",
	    test_each_file_is_counted_once_and_gets_its_action);
	ADD("a-row-is-written-anew-with-the-present-name-and-rights",
	    test_a_row_is_written_anew_with_the_present_name_and_rights);
	ADD("a-file-set-aside-has-no-part-in-stand-ins",
	    test_a_file_set_aside_has_no_part_in_stand_ins);
	ADD("only-a-file-with-clones-is-lost-as-a-stand-in",
	    test_only_a_file_with_clones_is_lost_as_a_stand_in);
	ADD("a-pass-that-does-not-see-all-files-leaves-a-note",
	    test_a_pass_that_does_not_see_all_files_leaves_a_note);
	ADD("a-half-read-file-that-relied-on-a-lost-one-is-read-from-its-beginning",
	    test_a_half_read_file_that_relied_on_a_lost_one_is_read_from_its_beginning);
	ADD("a-settled-file-that-may-be-a-target-again-is-matched-again",
	    test_a_settled_file_that_may_be_a_target_again_is_matched_again);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
