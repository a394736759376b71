/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/file-history.h"

#include "daemon/context/witnesses.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define BLOCK      FIXTURE_BLOCK_BYTES
#define FILE_BYTES (16 * BLOCK)
#define FILES      3
#define ADDRESS    UINT64_C(0x40000000)

typedef struct {
	PassFixture *fixture;
	Pass *pass;
	Witnesses *witnesses;
	uint32_t objects[FILES];
} Scene;

/* Where each file lies, and what FIEMAP says of that. */
static struct {
	uint64_t inode;
	uint64_t address;
	uint32_t flags;
} files[FILES];

int ioctl(int fd, unsigned long request, ...)
{
	struct fiemap *map;
	struct stat stat;
	va_list arguments;

	va_start(arguments, request);
	map = va_arg(arguments, struct fiemap *);
	va_end(arguments);

	for (size_t i = 0; request == FS_IOC_FIEMAP && fstat(fd, &stat) == 0 && i < FILES; i++) {
		if (files[i].inode != stat.st_ino)
			continue;
		map->fm_mapped_extents = 1;
		map->fm_extents[0] = (struct fiemap_extent){ .fe_physical = files[i].address,
							     .fe_length = FILE_BYTES,
							     .fe_flags = files[i].flags };
		return 0;
	}

	errno = ENOTTY;
	return -1;
}

static const Object *stored(const Scene *scene, size_t i)
{
	const Object *object;

	g_assert_true(hash_store_find(scene->pass->store, scene->objects[i], &object, NULL));
	g_assert_nonnull(object);
	return object;
}

static void set_up(Scene *scene, const void *data)
{
	scene->fixture = pass_fixture_new();
	scene->pass = &scene->fixture->pass;
	scene->witnesses = witnesses_new();
	for (size_t i = 0; i < FILES; i++) {
		scene->objects[i] = pass_fixture_put_file(scene->fixture, FILE_BYTES, 0);
		files[i].inode = stored(scene, i)->inode;
		files[i].address = (i + 1) * ADDRESS;
		files[i].flags = 0;
	}
}

static void tear_down(Scene *scene, const void *data)
{
	witnesses_free(scene->witnesses);
	pass_fixture_free(scene->fixture);
}

/* The pass shared onto the third block of each file. */
static void share(Scene *scene)
{
	for (size_t i = 0; i < FILES; i++)
		witness_sample_add(&scene->pass->shared, 0, files[i].inode, 2 * BLOCK);
}

static bool remember(Scene *scene)
{
	g_autoptr(GError) error = NULL;
	bool is_changed;

	g_assert_true(file_history_remember(scene->pass, scene->witnesses, &is_changed, &error));
	g_assert_no_error(error);
	return is_changed;
}

static bool is_continued(Scene *scene)
{
	g_autoptr(GError) error = NULL;
	bool is_continued;

	g_assert_true(file_history_check(scene->pass, scene->witnesses, &is_continued, &error));
	g_assert_no_error(error);
	return is_continued;
}

/* A later pass, which shared nothing so far. */
static void begin_later_pass(Scene *scene)
{
	scene->pass->shared = (WitnessSample){ 0 };
	scene->fixture->result = (PassResult){ 0 };
}

static void write_to(const Scene *scene, size_t i)
{
	g_autofree char *name = g_strdup_printf("object-%u", scene->objects[i]);
	const struct timespec times[] = { { 1, 0 }, { 1, 0 } };

	g_assert_cmpint(utimensat(scene->fixture->scratch->fd, name, times, 0), ==, 0);
}

static void drop(Scene *scene, size_t i)
{
	g_assert_true(hash_store_drop(scene->pass->store, 0, files[i].inode, NULL));
}

static void test_places_that_were_shared_are_remembered(Scene *scene, const void *data)
{
	g_assert_true(is_continued(scene));
	share(scene);
	g_assert_true(remember(scene));
	g_assert_cmpuint(witnesses_count(scene->witnesses), ==, FILES);
	for (size_t i = 0; i < FILES; i++) {
		const Witness *witness = witnesses_at(scene->witnesses, i);

		g_assert_cmpuint(witness->inode, ==, files[i].inode);
		g_assert_cmpuint(witness->offset, ==, 2 * BLOCK);
		g_assert_cmpuint(witness->values[0], ==, files[i].address + 2 * BLOCK);
		g_assert_cmpint((int64_t)witness->values[1], ==, stored(scene, i)->ctime_nsec);
	}
	g_assert_true(is_continued(scene));
}

static void test_one_that_lies_elsewhere_tells_that_files_were_set_back(Scene *scene,
									const void *data)
{
	share(scene);
	g_assert_true(remember(scene));
	for (size_t i = 0; i < FILES; i++) {
		files[i].address += BLOCK;
		g_assert_false(is_continued(scene));
		files[i].address -= BLOCK;
		g_assert_true(is_continued(scene));
	}
}

/* Their files may lie elsewhere, but one that can tell must be left. */
static void test_files_that_changed_tell_nothing(Scene *scene, const void *data)
{
	share(scene);
	g_assert_true(remember(scene));
	drop(scene, 0);
	write_to(scene, 1);
	files[0].address = files[1].address = 0;
	g_assert_true(is_continued(scene));
	files[2].address += BLOCK;
	g_assert_false(is_continued(scene));

	files[2].address -= BLOCK;
	write_to(scene, 2);
	g_assert_false(is_continued(scene));
}

/* It was changed, and read again since. */
static void test_a_place_of_another_version_of_the_file_tells_nothing(Scene *scene,
								      const void *data)
{
	share(scene);
	g_assert_true(remember(scene));
	witnesses_at(scene->witnesses, 0)->values[1]++;
	files[0].address += BLOCK;
	g_assert_true(is_continued(scene));

	/* Earlier versions noted no time. */
	witnesses_at(scene->witnesses, 0)->values[1] = 0;
	g_assert_false(is_continued(scene));
	files[0].address -= BLOCK;
	g_assert_true(is_continued(scene));
}

static void test_places_without_an_address_are_not_remembered(Scene *scene, const void *data)
{
	files[0].flags = FIEMAP_EXTENT_DATA_INLINE;
	files[1].flags = FIEMAP_EXTENT_DELALLOC;
	files[2].flags = FIEMAP_EXTENT_UNKNOWN;
	share(scene);
	g_assert_true(remember(scene));
	g_assert_cmpuint(witnesses_count(scene->witnesses), ==, 0);

	/* Nor are those of files that cannot be looked at. */
	files[0].flags = files[1].flags = files[2].flags = 0;
	drop(scene, 0);
	write_to(scene, 1);
	files[2].inode = 0;
	g_assert_true(remember(scene));
	g_assert_cmpuint(witnesses_count(scene->witnesses), ==, 0);
}

static void test_a_pass_that_did_nothing_moved_nothing(Scene *scene, const void *data)
{
	share(scene);
	g_assert_true(remember(scene));
	begin_later_pass(scene);
	files[0].address += BLOCK;
	g_assert_false(remember(scene));
	g_assert_cmpuint(witnesses_at(scene->witnesses, 0)->values[0], ==,
			 files[0].address + BLOCK);
}

/* By reading changed files, or by finding data shared that an earlier pass shared before it was ended. */
static void test_what_may_have_moved_is_measured_anew(Scene *scene, const void *data)
{
	share(scene);
	g_assert_true(remember(scene));
	begin_later_pass(scene);
	scene->fixture->result.files.read = 1;
	files[0].address += BLOCK;
	g_assert_true(remember(scene));
	g_assert_cmpuint(witnesses_at(scene->witnesses, 0)->values[0], ==,
			 files[0].address + 2 * BLOCK);

	begin_later_pass(scene);
	scene->fixture->result.shared.already_bytes = 1;
	files[0].address += BLOCK;
	drop(scene, 1);
	write_to(scene, 2);
	g_assert_true(remember(scene));
	/* What cannot be measured now may tell later, unless the file is gone. */
	g_assert_cmpuint(witnesses_count(scene->witnesses), ==, 2);
	g_assert_cmpuint(witnesses_at(scene->witnesses, 0)->values[0], ==,
			 files[0].address + 2 * BLOCK);
	g_assert_cmpuint(witnesses_at(scene->witnesses, 1)->inode, ==, files[2].inode);
	g_assert_cmpuint(witnesses_at(scene->witnesses, 1)->values[0], ==,
			 files[2].address + 2 * BLOCK);
}

static bool check_it(void *data, GError **error)
{
	Scene *scene = data;
	bool is_continued;

	return file_history_check(scene->pass, scene->witnesses, &is_continued, error);
}

static bool remember_it(void *data, GError **error)
{
	Scene *scene = data;
	bool is_changed;

	return file_history_remember(scene->pass, scene->witnesses, &is_changed, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	share(scene);
	/* For the first time, and when there are some that are measured anew. */
	failing_store_try(scene->pass->store, remember_it, scene);
	failing_store_try(scene->pass->store, remember_it, scene);
	failing_store_try(scene->pass->store, check_it, scene);
}

#define ADD(name, test) g_test_add("/file-history/" name, Scene, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("places-that-were-shared-are-remembered", test_places_that_were_shared_are_remembered);
	ADD("one-that-lies-elsewhere-tells-that-files-were-set-back",
	    test_one_that_lies_elsewhere_tells_that_files_were_set_back);
	ADD("files-that-changed-tell-nothing", test_files_that_changed_tell_nothing);
	ADD("a-place-of-another-version-of-the-file-tells-nothing",
	    test_a_place_of_another_version_of_the_file_tells_nothing);
	ADD("places-without-an-address-are-not-remembered",
	    test_places_without_an_address_are_not_remembered);
	ADD("a-pass-that-did-nothing-moved-nothing", test_a_pass_that_did_nothing_moved_nothing);
	ADD("what-may-have-moved-is-measured-anew", test_what_may_have_moved_is_measured_anew);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
