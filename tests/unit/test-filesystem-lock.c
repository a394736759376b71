/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/filesystem-lock.h"
#include "common/system/lock-file.h"
#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <string.h>
#include <unistd.h>

/* Longer than a look at the lock, and shorter than the wait for one. */
#define MOMENT_USEC (30 * G_USEC_PER_SEC / 1000)

#define WAIT_USEC (100 * G_USEC_PER_SEC / 1000)

static void *let_go_soon(void *data)
{
	int *fd = data;

	g_usleep(MOMENT_USEC);
	fd_close(fd);
	return NULL;
}

static void test_who_holds_it_for_a_moment_is_waited_for(const void *uuid)
{
	g_autoptr(GError) error = NULL;
	g_auto(Fd) fd = -1;
	GThread *holder;
	int held;

	g_assert_true(filesystem_lock(uuid, &held, &error));
	holder = g_thread_new("holder", let_go_soon, &held);
	g_assert_true(filesystem_lock(uuid, &fd, &error));
	g_thread_join(holder);
	g_assert_cmpint(fd, >=, 0);
}

static void test_who_holds_it_longer_is_named(const void *uuid)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *self = g_strdup_printf("process %d", getpid());
	g_autofree char *holder = NULL;
	g_auto(Fd) held = -1;
	g_auto(Fd) other = -1;
	int64_t begun_usec;

	g_assert_true(filesystem_lock(uuid, &held, &error));
	holder = filesystem_lock_holder(uuid);
	g_assert_cmpstr(holder, ==, self);
	begun_usec = g_get_monotonic_time();
	g_assert_false(filesystem_lock(uuid, &other, &error));
	g_assert_cmpint(other, ==, -1);
	g_assert_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE);
	g_assert_nonnull(strstr(error->message, self));
	g_assert_cmpint(g_get_monotonic_time() - begun_usec, >=, WAIT_USEC);
}

static void test_who_looks_has_it_no_longer(const void *uuid)
{
	g_autoptr(GError) error = NULL;
	g_auto(Fd) fd = -1;

	g_assert_null(filesystem_lock_holder(uuid));
	g_assert_true(filesystem_lock(uuid, &fd, &error));
	g_assert_cmpint(fd, >=, 0);
}

/* A lock file that was deleted while a process held it is made again, and can be locked. */
static void test_a_deleted_lock_file_is_made_anew(const void *uuid)
{
	g_autofree char *path = lock_file_path(uuid);
	g_auto(Fd) stale = -1;
	g_auto(Fd) fd = -1;
	g_auto(Fd) second = -1;

	g_assert_true(filesystem_lock(uuid, &stale, NULL));
	g_assert_cmpint(unlink(path), ==, 0);
	g_assert_true(filesystem_lock(uuid, &fd, NULL));
	g_assert_cmpint(fd, >=, 0);
	g_assert_false(filesystem_lock(uuid, &second, NULL));
}

static void test_looks_are_refused_while_it_is_held(const void *uuid)
{
	g_autoptr(FilesystemLook) look = filesystem_look_new(uuid);
	g_autoptr(FilesystemLook) other = filesystem_look_new(uuid);
	g_autoptr(GError) error = NULL;
	g_auto(Fd) held = -1;

	g_assert_true(filesystem_lock(uuid, &held, NULL));
	g_assert_false(filesystem_look_begin(look, &error));
	g_assert_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE);
	fd_close(&held);
	g_assert_true(filesystem_look_begin(look, NULL));
	g_assert_true(filesystem_look_begin(other, NULL));
	filesystem_look_end(look);
	filesystem_look_end(other);
}

static void test_a_look_leaves_the_lock_free_for_others_to_see(const void *uuid)
{
	g_autoptr(FilesystemLook) look = filesystem_look_new(uuid);

	g_assert_true(filesystem_look_begin(look, NULL));
	g_assert_null(filesystem_lock_holder(uuid));
	filesystem_look_end(look);
}

static void *end_look_soon(void *data)
{
	g_usleep(MOMENT_USEC);
	filesystem_look_end(data);
	return NULL;
}

static void test_a_look_is_waited_for(const void *uuid)
{
	g_autoptr(FilesystemLook) look = filesystem_look_new(uuid);
	int64_t begun_usec = g_get_monotonic_time();
	g_auto(Fd) fd = -1;
	GThread *looker;

	g_assert_true(filesystem_look_begin(look, NULL));
	looker = g_thread_new("looker", end_look_soon, look);
	g_assert_true(filesystem_lock(uuid, &fd, NULL));
	g_thread_join(looker);
	g_assert_cmpint(g_get_monotonic_time() - begun_usec, >=, MOMENT_USEC);
	g_assert_false(filesystem_look_begin(look, NULL));
}

/* The look has the old file open. */
static void test_a_look_is_of_the_file_that_is_there(const void *uuid)
{
	g_autoptr(FilesystemLook) look = filesystem_look_new(uuid);
	g_autofree char *path = lock_file_path(uuid);
	g_auto(Fd) fd = -1;

	g_assert_true(filesystem_look_begin(look, NULL));
	filesystem_look_end(look);
	g_assert_cmpint(unlink(path), ==, 0);
	g_assert_true(filesystem_lock(uuid, &fd, NULL));
	g_assert_false(filesystem_look_begin(look, NULL));
}

static void lock_without_a_place(void *data)
{
	g_autoptr(GError) error = NULL;
	g_auto(Fd) fd = -1;

	scratch_become_nobody_without_directories();
	g_assert_true(filesystem_lock(data, &fd, &error));
	g_assert_no_error(error);
	g_assert_cmpint(fd, ==, -1);
	g_assert_null(filesystem_lock_holder(data));
}

static void test_a_user_without_a_directory_of_their_own_works_unlocked(const void *uuid)
{
	if (geteuid() != 0) {
		g_test_skip("only root can become another user");
		return;
	}
	scratch_run_in_child(lock_without_a_place, (void *)uuid);
}

int main(int argc, char **argv)
{
	g_autofree char *uuid = g_uuid_string_random();
	g_autoptr(Scratch) scratch = scratch_new();
	g_autofree char *path = NULL;
	int failed;

	/* The test cannot choose the directory of root's locks. */
	g_setenv("XDG_RUNTIME_DIR", scratch->path, true);
	path = lock_file_path(uuid);
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/filesystem-lock/moment", uuid,
			     test_who_holds_it_for_a_moment_is_waited_for);
	g_test_add_data_func("/filesystem-lock/longer", uuid, test_who_holds_it_longer_is_named);
	g_test_add_data_func("/filesystem-lock/look", uuid, test_who_looks_has_it_no_longer);
	g_test_add_data_func("/filesystem-lock/deleted", uuid,
			     test_a_deleted_lock_file_is_made_anew);
	g_test_add_data_func("/filesystem-lock/looks/refused", uuid,
			     test_looks_are_refused_while_it_is_held);
	g_test_add_data_func("/filesystem-lock/looks/free", uuid,
			     test_a_look_leaves_the_lock_free_for_others_to_see);
	g_test_add_data_func("/filesystem-lock/looks/waited-for", uuid, test_a_look_is_waited_for);
	g_test_add_data_func("/filesystem-lock/looks/deleted", uuid,
			     test_a_look_is_of_the_file_that_is_there);
	g_test_add_data_func("/filesystem-lock/no-place", uuid,
			     test_a_user_without_a_directory_of_their_own_works_unlocked);
	failed = g_test_run();
	unlink(path);
	return failed;
}
