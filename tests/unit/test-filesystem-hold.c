/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/filesystem-hold.h"
#include "common/mounts/filesystem-lock.h"
#include "common/system/lock-file.h"
#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <string.h>
#include <unistd.h>

static char *self(void)
{
	return g_strdup_printf("process %d", getpid());
}

static void test_what_nobody_holds_has_no_holder(const void *uuid)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(filesystem_hold_holder(uuid));
	g_assert_true(filesystem_hold_is_absent(uuid, &error));
	g_assert_no_error(error);
}

static void test_who_holds_it_is_named_until_they_let_go(const void *uuid)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *expected = self();
	g_autofree char *holder = NULL;
	g_auto(Fd) fd = -1;

	g_assert_true(filesystem_hold(uuid, &fd, NULL));
	holder = filesystem_hold_holder(uuid);
	g_assert_cmpstr(holder, ==, expected);
	g_assert_false(filesystem_hold_is_absent(uuid, &error));
	g_assert_error(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE);
	g_assert_nonnull(strstr(error->message, expected));
	fd_close(&fd);
	g_assert_null(filesystem_hold_holder(uuid));
}

static void test_a_hold_is_no_lock_and_no_lock_a_hold(const void *uuid)
{
	g_auto(Fd) lock = -1;
	g_auto(Fd) hold = -1;

	g_assert_true(filesystem_lock(uuid, &lock, NULL));
	g_assert_null(filesystem_hold_holder(uuid));
	g_assert_true(filesystem_hold(uuid, &hold, NULL));
	fd_close(&lock);
	g_assert_true(filesystem_lock(uuid, &lock, NULL));
}

/* A child that holds it, too, until the pipe is closed. */
typedef struct {
	const char *uuid;
	int held[2], end[2];
} Other;

static void hold_until_told(void *data)
{
	const Other *other = data;
	g_auto(Fd) fd = -1;
	char byte;

	close(other->end[1]);
	g_assert_true(filesystem_hold(other->uuid, &fd, NULL));
	g_assert_cmpint(write(other->held[1], "", 1), ==, 1);
	g_assert_cmpint(read(other->end[0], &byte, 1), ==, 0);
}

static void *run_other(void *data)
{
	scratch_run_in_child(hold_until_told, data);
	return NULL;
}

static void test_of_several_who_hold_it_one_that_still_does_is_named(const void *uuid)
{
	Other other = { .uuid = uuid };
	g_autofree char *own = self();
	g_autofree char *holder = NULL;
	g_auto(Fd) one = -1;
	g_auto(Fd) two = -1;
	GThread *thread;
	char byte;

	g_assert_cmpint(pipe(other.held), ==, 0);
	g_assert_cmpint(pipe(other.end), ==, 0);
	thread = g_thread_new("other", run_other, &other);
	g_assert_cmpint(read(other.held[0], &byte, 1), ==, 1);
	g_assert_true(filesystem_hold(uuid, &one, NULL));
	g_assert_true(filesystem_hold(uuid, &two, NULL));
	fd_close(&one);
	g_assert_false(filesystem_hold_is_absent(uuid, NULL));
	fd_close(&two);
	holder = filesystem_hold_holder(uuid);
	g_assert_nonnull(holder);
	g_assert_cmpstr(holder, !=, own);
	close(other.end[1]);
	g_thread_join(thread);
	g_assert_null(filesystem_hold_holder(uuid));
	close(other.held[0]);
	close(other.held[1]);
	close(other.end[0]);
}

static void test_a_deleted_lock_file_is_made_anew(const void *uuid)
{
	g_autofree char *name = g_strconcat(uuid, ".hold", NULL);
	g_autofree char *path = lock_file_path(name);
	g_auto(Fd) stale = -1;
	g_auto(Fd) fd = -1;

	g_assert_true(filesystem_hold(uuid, &stale, NULL));
	g_assert_cmpint(unlink(path), ==, 0);
	g_assert_null(filesystem_hold_holder(uuid));
	g_assert_true(filesystem_hold(uuid, &fd, NULL));
	g_assert_false(filesystem_hold_is_absent(uuid, NULL));
}

static void hold_without_a_place(void *data)
{
	g_autoptr(GError) error = NULL;
	g_auto(Fd) fd = -1;

	scratch_become_nobody_without_directories();
	g_assert_true(filesystem_hold(data, &fd, &error));
	g_assert_no_error(error);
	g_assert_cmpint(fd, ==, -1);
	g_assert_null(filesystem_hold_holder(data));
}

static void test_a_user_without_a_directory_of_their_own_holds_nothing(const void *uuid)
{
	if (geteuid() != 0) {
		g_test_skip("only root can become another user");
		return;
	}
	scratch_run_in_child(hold_without_a_place, (void *)uuid);
}

int main(int argc, char **argv)
{
	g_autofree char *uuid = g_uuid_string_random();
	g_autofree char *name = g_strconcat(uuid, ".hold", NULL);
	g_autoptr(Scratch) scratch = scratch_new();
	g_autofree char *path = NULL;
	g_autofree char *lock_path = NULL;
	int failed;

	/* The test cannot choose the directory of root's locks. */
	g_setenv("XDG_RUNTIME_DIR", scratch->path, true);
	path = lock_file_path(name);
	lock_path = lock_file_path(uuid);
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/filesystem-hold/nobody", uuid, test_what_nobody_holds_has_no_holder);
	g_test_add_data_func("/filesystem-hold/named", uuid,
			     test_who_holds_it_is_named_until_they_let_go);
	g_test_add_data_func("/filesystem-hold/lock", uuid,
			     test_a_hold_is_no_lock_and_no_lock_a_hold);
	g_test_add_data_func("/filesystem-hold/several", uuid,
			     test_of_several_who_hold_it_one_that_still_does_is_named);
	g_test_add_data_func("/filesystem-hold/deleted", uuid,
			     test_a_deleted_lock_file_is_made_anew);
	g_test_add_data_func("/filesystem-hold/no-place", uuid,
			     test_a_user_without_a_directory_of_their_own_holds_nothing);
	failed = g_test_run();
	unlink(path);
	unlink(lock_path);
	return failed;
}
