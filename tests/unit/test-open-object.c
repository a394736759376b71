/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/open-object.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK FIXTURE_BLOCK_BYTES

/* Sources that stay open while nobody uses them. */
#define IDLE_SOURCES 32

typedef struct {
	PassFixture *pass;
	Pass *context;
	OpenSources *sources;
} Fixture;

static void set_up(Fixture *fixture, const void *data)
{
	fixture->pass = pass_fixture_new();
	fixture->context = &fixture->pass->pass;
	fixture->context->postponed = postponed_new();
	fixture->sources = open_sources_new(fixture->context, fixture->pass->opener);
}

static void tear_down(Fixture *fixture, const void *data)
{
	open_sources_free(fixture->sources);
	postponed_free(fixture->context->postponed);
	pass_fixture_free(fixture->pass);
}

static char *name_of(uint32_t id)
{
	return g_strdup_printf("object-%u", id);
}

static OpenObject *open_it(Fixture *fixture, uint32_t id)
{
	g_autoptr(GError) error = NULL;
	OpenObject *object = NULL;

	g_assert_true(open_object(fixture->context, fixture->pass->opener, id, &object, &error));
	g_assert_no_error(error);
	return object;
}

static bool is_stored(const Fixture *fixture, uint32_t id)
{
	const Object *stored;

	g_assert_true(hash_store_find(fixture->context->store, id, &stored, NULL));
	return stored != NULL;
}

static const SkipEntry *skipped(const Fixture *fixture, SkipReason reason)
{
	return &fixture->pass->result.skips.entries[reason];
}

static void test_an_object_is_opened_with_what_the_store_knows(Fixture *fixture, const void *data)
{
	uint32_t id = pass_fixture_put_file(fixture->pass, 2 * BLOCK + 1, OBJECT_KEEP_ZEROS);
	uint32_t whole = pass_fixture_put_file(fixture->pass, 2 * BLOCK, OBJECT_CLONED);
	g_autoptr(OpenObject) object = open_it(fixture, id);
	g_autoptr(OpenObject) other = open_it(fixture, whole);
	struct stat stat;

	g_assert_true(object->is_usable);
	g_assert_cmpint(fstat(file_reader_fd(object->reader), &stat), ==, 0);
	g_assert_cmpuint(object->id, ==, id);
	g_assert_cmpuint(object->inode, ==, stat.st_ino);
	g_assert_cmpuint(object->owner, ==, stat.st_uid);
	g_assert_cmpuint(object->parent, ==, pass_fixture_put_root(fixture->pass));
	g_assert_cmpuint(object->size_bytes, ==, 2 * BLOCK + 1);
	g_assert_cmpuint(object->blocks, ==, 3);
	g_assert_cmpuint(open_object_end_bytes(object, 2, BLOCK), ==, 2 * BLOCK);
	g_assert_cmpuint(open_object_end_bytes(object, 3, BLOCK), ==, 2 * BLOCK + 1);
	g_assert_true(object->keeps_zeros);

	g_assert_cmpuint(other->blocks, ==, 2);
	g_assert_false(other->keeps_zeros);
}

static void test_one_that_is_not_in_the_store_is_no_skip(Fixture *fixture, const void *data)
{
	g_autoptr(OpenObject) object = open_it(fixture, 77);

	g_assert_false(object->is_usable);
	g_assert_null(object->reader);
	g_assert_cmpuint(skipped(fixture, SKIP_CHANGED)->count, ==, 0);
}

static void test_one_that_changed_is_forgotten(Fixture *fixture, const void *data)
{
	uint32_t id = pass_fixture_put_file(fixture->pass, BLOCK, 0);
	g_autofree char *name = name_of(id);
	g_autofree char *path = scratch_path(fixture->pass->scratch, name);
	g_autoptr(OpenObject) object = NULL;

	g_assert_cmpint(truncate(path, 5 * BLOCK), ==, 0);
	object = open_it(fixture, id);
	g_assert_false(object->is_usable);
	g_assert_cmpuint(skipped(fixture, SKIP_CHANGED)->count, ==, 1);
	g_assert_cmpuint(skipped(fixture, SKIP_CHANGED)->bytes, ==, BLOCK);
	g_assert_cmpstr(skipped(fixture, SKIP_CHANGED)->examples[0], ==, path);
	g_assert_false(is_stored(fixture, id));
}

static void test_another_file_of_the_same_name_is_not_used(Fixture *fixture, const void *data)
{
	uint32_t id = pass_fixture_put_file(fixture->pass, BLOCK, 0);
	uint32_t other = pass_fixture_put_file(fixture->pass, BLOCK, 0);
	g_autofree char *name = name_of(id);
	g_autofree char *other_name = name_of(other);
	int directory = fixture->pass->scratch->fd;
	struct stat stat;

	/* The times of the one that it replaces. */
	g_assert_cmpint(fstatat(directory, name, &stat, 0), ==, 0);
	g_assert_cmpint(renameat(directory, other_name, directory, name), ==, 0);
	g_assert_cmpint(utimensat(directory, name,
				  (const struct timespec[]){ stat.st_atim, stat.st_mtim }, 0),
			==, 0);
	open_object_free(open_it(fixture, id));
	g_assert_cmpuint(skipped(fixture, SKIP_CHANGED)->count, ==, 1);
	g_assert_false(is_stored(fixture, id));
	/* It is gone by its own name. */
	open_object_free(open_it(fixture, other));
	g_assert_cmpuint(skipped(fixture, SKIP_CHANGED)->count, ==, 2);
	g_assert_false(is_stored(fixture, other));
}

/* All data is compared before it is shared. */
static void test_only_the_ctime_may_differ(Fixture *fixture, const void *data)
{
	uint32_t id = pass_fixture_put_file(fixture->pass, BLOCK, 0);
	g_autofree char *name = name_of(id);
	g_autoptr(OpenObject) object = NULL;
	int directory = fixture->pass->scratch->fd;

	g_assert_cmpint(fchmodat(directory, name, 0600, 0), ==, 0);
	object = open_it(fixture, id);
	g_assert_true(object->is_usable);
	g_assert_cmpint(open_object_compare(object), ==, STAMP_SAME);
	g_assert_cmpint(
		utimensat(directory, name, (const struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0), ==,
		0);
	g_assert_cmpint(open_object_compare(object), ==, STAMP_CHANGED);
}

static void test_holes_are_skipped(Fixture *fixture, const void *data)
{
	uint32_t id = pass_fixture_put_file(fixture->pass, BLOCK, 0);
	g_autoptr(OpenObject) object = open_it(fixture, id);
	g_autofree char *name = name_of(id);
	g_auto(Fd) fd = openat(fixture->pass->scratch->fd, name, O_WRONLY);

	g_assert_cmpint(ftruncate(fd, 1000 * BLOCK), ==, 0);
	scratch_fill(fd, 640 * BLOCK, BLOCK, 1);
	g_assert_cmpint(fsync(fd), ==, 0);
	g_assert_cmpuint(open_object_skip_hole(object, 0, BLOCK), ==, 0);
	g_assert_cmpuint(open_object_skip_hole(object, 320, BLOCK), ==, 640);
	g_assert_cmpuint(open_object_skip_hole(object, 640, BLOCK), ==, 640);
	g_assert_cmpuint(open_object_skip_hole(object, 960, BLOCK), >=, 1000);
}

static void test_an_object_can_be_given_up(Fixture *fixture, const void *data)
{
	static const struct {
		GiveUp how;
		bool is_postponed, is_kept;
	} cases[] = {
		{ GIVE_UP_FOR_GOOD, false, true },
		{ GIVE_UP_FOR_NOW, true, true },
		{ GIVE_UP_AND_FORGET, false, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t id = pass_fixture_put_file(fixture->pass, 4 * BLOCK, 0);
		g_autoptr(OpenObject) object = open_it(fixture, id);

		g_assert_true(object->is_usable);
		g_assert_true(open_object_give_up(fixture->context, fixture->pass->opener, object,
						  SKIP_BUSY, 3 * BLOCK, cases[i].how, NULL));
		g_assert_false(object->is_usable);
		g_assert_cmpuint(skipped(fixture, SKIP_BUSY)->count, ==, i + 1);
		g_assert_cmpuint(skipped(fixture, SKIP_BUSY)->bytes, ==, (i + 1) * 3 * BLOCK);
		g_assert_cmpint(postponed_has(fixture->context->postponed, id), ==,
				cases[i].is_postponed);
		g_assert_cmpint(is_stored(fixture, id), ==, cases[i].is_kept);
	}
}

static OpenObject *take(Fixture *fixture, uint32_t id)
{
	g_autoptr(GError) error = NULL;
	OpenObject *source = NULL;

	g_assert_true(open_sources_take(fixture->sources, id, &source, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(source->id, ==, id);
	return source;
}

static void take_and_give_back(Fixture *fixture, uint32_t id)
{
	open_sources_give_back(fixture->sources, take(fixture, id));
}

static unsigned count_descriptors(void)
{
	g_autoptr(GDir) directory = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned n = 0;

	while (g_dir_read_name(directory))
		n++;
	return n;
}

static void test_the_latest_sources_stay_open(Fixture *fixture, const void *data)
{
	OpenObject *taken[IDLE_SOURCES];
	uint32_t ids[IDLE_SOURCES + 8];
	unsigned n_before;
	size_t n_taken = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++)
		ids[i] = pass_fixture_put_file(fixture->pass, BLOCK, 0);
	/* Opens the directory. */
	open_object_free(open_it(fixture, ids[0]));
	n_before = count_descriptors();

	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
		take_and_give_back(fixture, ids[i]);
		g_assert_cmpuint(count_descriptors(), ==, n_before + MIN(i + 1, IDLE_SOURCES));
	}

	/* It becomes the latest one, so that the next takes the place of another. */
	take_and_give_back(fixture, ids[8]);
	take_and_give_back(fixture, ids[0]);
	taken[n_taken++] = take(fixture, ids[0]);
	taken[n_taken++] = take(fixture, ids[8]);
	for (size_t i = 10; i < G_N_ELEMENTS(ids); i++)
		taken[n_taken++] = take(fixture, ids[i]);
	g_assert_cmpuint(n_taken, ==, IDLE_SOURCES);
	g_assert_cmpuint(count_descriptors(), ==, n_before + IDLE_SOURCES);
	take_and_give_back(fixture, ids[9]);
	g_assert_cmpuint(count_descriptors(), ==, n_before + IDLE_SOURCES + 1);
	for (size_t i = 0; i < IDLE_SOURCES; i++)
		open_sources_give_back(fixture->sources, taken[i]);
	g_assert_cmpuint(count_descriptors(), ==, n_before + IDLE_SOURCES);
}

static void test_a_source_in_use_is_opened_once_and_stays_open(Fixture *fixture, const void *data)
{
	uint32_t id = pass_fixture_put_file(fixture->pass, BLOCK, 0);
	OpenObject *source = take(fixture, id);

	g_assert_true(take(fixture, id) == source);
	open_sources_give_back(fixture->sources, source);
	for (int i = 0; i < IDLE_SOURCES + 1; i++)
		take_and_give_back(fixture, pass_fixture_put_file(fixture->pass, BLOCK, 0));
	g_assert_cmpint(open_object_compare(source), ==, STAMP_SAME);
	g_assert_true(take(fixture, id) == source);
	open_sources_give_back(fixture->sources, source);
	open_sources_give_back(fixture->sources, source);
	open_sources_give_back(fixture->sources, NULL);
}

typedef struct {
	Fixture *fixture;
	uint32_t id;
} Opening;

static bool open_again(void *data, GError **error)
{
	const Opening *opening = data;
	g_autoptr(OpenObject) object = NULL;

	return open_object(opening->fixture->context, opening->fixture->pass->opener, opening->id,
			   &object, error);
}

static bool take_again(void *data, GError **error)
{
	const Opening *opening = data;
	OpenSources *sources = opening->fixture->sources;
	OpenObject *source;

	if (!open_sources_take(sources, opening->id, &source, error))
		return false;

	open_sources_give_back(sources, source);
	return true;
}

static void test_errors_are_passed_on(Fixture *fixture, const void *data)
{
	Opening changed = { fixture, pass_fixture_put_file(fixture->pass, BLOCK, OBJECT_CLONED) };
	Opening same = { fixture, pass_fixture_put_file(fixture->pass, BLOCK, 0) };
	g_autofree char *name = name_of(changed.id);
	g_autofree char *path = scratch_path(fixture->pass->scratch, name);

	failing_store_try(fixture->context->store, take_again, &same);
	failing_store_try(fixture->context->store, open_again, &same);
	/* It is dropped, and others that rely on it are found. */
	g_assert_cmpint(truncate(path, 5 * BLOCK), ==, 0);
	failing_store_try(fixture->context->store, open_again, &changed);
	g_assert_false(is_stored(fixture, changed.id));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/open-object/" name, Fixture, NULL, set_up, test, tear_down)
	ADD("an-object-is-opened-with-what-the-store-knows",
	    test_an_object_is_opened_with_what_the_store_knows);
	ADD("one-that-is-not-in-the-store-is-no-skip",
	    test_one_that_is_not_in_the_store_is_no_skip);
	ADD("one-that-changed-is-forgotten", test_one_that_changed_is_forgotten);
	ADD("another-file-of-the-same-name-is-not-used",
	    test_another_file_of_the_same_name_is_not_used);
	ADD("only-the-ctime-may-differ", test_only_the_ctime_may_differ);
	ADD("holes-are-skipped", test_holes_are_skipped);
	ADD("an-object-can-be-given-up", test_an_object_can_be_given_up);
	ADD("the-latest-sources-stay-open", test_the_latest_sources_stay_open);
	ADD("a-source-in-use-is-opened-once-and-stays-open",
	    test_a_source_in_use_is_opened_once_and_stays_open);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
