/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/lock-directory.h"
#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHER_USER 65534

typedef struct {
	Scratch *scratch;
	char *first; /* two bases */
	char *second;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	scene->scratch = scratch_new();
	scene->first = g_build_filename(scene->scratch->path, "first", NULL);
	scene->second = g_build_filename(scene->scratch->path, "second", NULL);
	g_assert_cmpint(g_mkdir(scene->first, 0700), ==, 0);
	g_assert_cmpint(g_mkdir(scene->second, 0700), ==, 0);
}

static void tear_down(Scene *scene, const void *data)
{
	g_free(scene->first);
	g_free(scene->second);
	scratch_free(scene->scratch);
}

static LockDirectoryOutcome open_either(const Scene *scene, char **ret_path)
{
	const LockPlace places[] = {
		{ NULL, "locks", false },
		{ "relative", "locks", true },
		{ scene->first, "locks", false },
		{ scene->second, "locks", true },
		{ NULL, NULL, false },
	};
	g_autoptr(GError) error = NULL;
	g_auto(Fd) fd = -1;
	LockDirectoryOutcome outcome = lock_directory_open_among(places, &fd, ret_path, &error);

	g_assert_no_error(error);
	g_assert_true((outcome == LOCK_DIRECTORY_OPENED) == (fd >= 0));
	return outcome;
}

/* @base is the expected place; NULL: nowhere. */
static void assert_lies_in(const Scene *scene, const char *base)
{
	g_autofree char *expected = base ? g_build_filename(base, "locks", NULL) : NULL;
	g_autofree char *path = NULL;
	LockDirectoryOutcome outcome = open_either(scene, &path);

	g_assert_cmpint(outcome, ==, base ? LOCK_DIRECTORY_OPENED : LOCK_DIRECTORY_NONE);
	g_assert_cmpstr(path, ==, expected);
}

static void test_the_first_private_base_is_taken_and_its_directory_is_private(Scene *scene,
									      const void *data)
{
	g_autofree char *path = g_build_filename(scene->first, "locks", NULL);
	mode_t mask = umask(0);
	struct stat st;

	assert_lies_in(scene, scene->first);
	umask(mask);
	g_assert_cmpint(stat(path, &st), ==, 0);
	g_assert_cmpint(st.st_mode & 07777, ==, 0700);
	assert_lies_in(scene, scene->first);
}

static void test_a_base_that_others_can_write_is_passed_over(Scene *scene, const void *data)
{
	static const mode_t modes[] = { 01777, 0777, 0770, 0702 };

	for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
		g_assert_cmpint(chmod(scene->first, modes[i]), ==, 0);
		assert_lies_in(scene, scene->second);
	}
	g_assert_cmpint(chmod(scene->second, 01777), ==, 0);
	assert_lies_in(scene, NULL);
}

static void test_a_base_or_directory_of_another_user_is_passed_over(Scene *scene, const void *data)
{
	g_autofree char *locks = g_build_filename(scene->first, "locks", NULL);

	if (geteuid() != 0) {
		g_test_skip("only root can give a directory away");
		return;
	}

	g_assert_cmpint(g_mkdir(locks, 0755), ==, 0);
	g_assert_cmpint(chown(locks, OTHER_USER, OTHER_USER), ==, 0);
	assert_lies_in(scene, scene->second);
	g_assert_cmpint(rmdir(locks), ==, 0);
	g_assert_cmpint(chown(scene->first, OTHER_USER, OTHER_USER), ==, 0);
	assert_lies_in(scene, scene->second);
	g_assert_cmpint(access(locks, F_OK), !=, 0);
}

static void test_a_link_in_the_place_of_the_directory_is_not_followed(Scene *scene,
								      const void *data)
{
	g_autofree char *locks = g_build_filename(scene->first, "locks", NULL);

	g_assert_cmpint(symlink(scene->second, locks), ==, 0);
	assert_lies_in(scene, scene->second);
}

static void test_only_a_base_that_may_be_made_is_made(Scene *scene, const void *data)
{
	g_assert_cmpint(rmdir(scene->first), ==, 0);
	g_assert_cmpint(rmdir(scene->second), ==, 0);

	assert_lies_in(scene, scene->second);
	g_assert_cmpint(access(scene->first, F_OK), !=, 0);
}

/* A second place would split the locks. */
static void test_a_failure_that_may_pass_is_an_error(Scene *scene, const void *data)
{
	g_autofree char *name = g_strnfill(300, 'n');
	const LockPlace places[] = {
		{ scene->first, name, false },
		{ scene->second, "locks", false },
		{ NULL, NULL, false },
	};
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;
	int fd;

	g_assert_cmpint(lock_directory_open_among(places, &fd, &path, &error), ==,
			LOCK_DIRECTORY_FAILED);
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NAMETOOLONG);
	g_assert_cmpint(fd, ==, -1);
}

/* Root's locks must not lie where any user could create their directory first. */
static void test_every_directory_above_the_locks_of_root_is_private(Scene *scene, const void *data)
{
	g_autofree char *path = NULL;
	g_autofree char *above = NULL;
	g_auto(Fd) fd = -1;
	struct stat st;

	if (geteuid() != 0) {
		g_test_skip("this test needs root");
		return;
	}
	g_assert_cmpint(lock_directory_open(&fd, &path, NULL), ==, LOCK_DIRECTORY_OPENED);
	while (strcmp(path, "/") != 0) {
		g_assert_cmpint(lstat(path, &st), ==, 0);
		g_assert_true(S_ISDIR(st.st_mode));
		g_assert_cmpint(st.st_uid, ==, 0);
		g_assert_cmpint(st.st_mode & 0022, ==, 0);
		above = g_path_get_dirname(path);
		g_free(path);
		path = g_steal_pointer(&above);
	}
}

static void add(const char *path, void (*test)(Scene *, const void *))
{
	g_test_add(path, Scene, NULL, set_up, test, tear_down);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("/lock-directory/first",
	    test_the_first_private_base_is_taken_and_its_directory_is_private);
	add("/lock-directory/writable", test_a_base_that_others_can_write_is_passed_over);
	add("/lock-directory/other-user", test_a_base_or_directory_of_another_user_is_passed_over);
	add("/lock-directory/link", test_a_link_in_the_place_of_the_directory_is_not_followed);
	add("/lock-directory/make", test_only_a_base_that_may_be_made_is_made);
	add("/lock-directory/error", test_a_failure_that_may_pass_is_an_error);
	add("/lock-directory/root", test_every_directory_above_the_locks_of_root_is_private);
	return g_test_run();
}
