/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/filesystem-hold.h"
#include "common/system/lock-file.h"
#include "daemon/context/filesystem.h"
#include "daemon/manager/managed-hold.h"
#include "tests/unit/run-loop.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_USEC (10 * G_USEC_PER_SEC)

/* Twice as long as the holds wait between two looks for passes. */
#define MOMENT_USEC (G_USEC_PER_SEC / 10)

/* Holds of a filesystem that no process works on; the test says whether the service does. */
typedef struct {
	char *uuid;
	MainLoop *loop;
	ManagedHolds *holds;
	bool pass_runs;
	unsigned n_begun, n_changed, n_answers, n_errors;
	int lease_fd; /* of the last answer */
} Scene;

static bool on_ask(void *data)
{
	return ((Scene *)data)->pass_runs;
}

static void on_begun(void *data)
{
	((Scene *)data)->n_begun++;
}

static void on_changed(void *data)
{
	((Scene *)data)->n_changed++;
}

static void on_answer(int lease_fd, const GError *error, void *data)
{
	Scene *scene = data;

	g_assert_cmpint(lease_fd >= 0, ==, !error);
	scene->n_answers++;
	scene->n_errors += error != NULL;
	scene->lease_fd = error ? -1 : fcntl(lease_fd, F_DUPFD_CLOEXEC, 3);
}

static void set_up(Scene *scene, const void *data)
{
	const ManagedHoldsListener listener = { on_ask, on_begun, on_changed, scene };
	g_autoptr(GError) error = NULL;

	scene->uuid = g_uuid_string_random();
	scene->lease_fd = -1;
	scene->loop = main_loop_new(&error);
	g_assert_no_error(error);
	scene->holds = managed_holds_new(scene->uuid, scene->loop, &listener);
}

static void tear_down(Scene *scene, const void *data)
{
	g_autofree char *name = g_strconcat(scene->uuid, ".hold", NULL);
	g_autofree char *path = lock_file_path(name);
	g_autofree char *lock_path = lock_file_path(scene->uuid);

	g_clear_pointer(&scene->holds, managed_holds_free);
	main_loop_free(scene->loop);
	if (path)
		unlink(path);
	if (lock_path)
		unlink(lock_path);
	g_free(scene->uuid);
}

/* Run the loop until *@count is @n. */
static void wait_for(const Scene *scene, const unsigned *count, unsigned n)
{
	int64_t end_usec = g_get_monotonic_time() + PATIENCE_USEC;

	while (*count < n && g_get_monotonic_time() < end_usec)
		g_assert_cmpint(sd_event_run(scene->loop->event, MOMENT_USEC), >=, 0);
	g_assert_cmpuint(*count, ==, n);
}

static void add(Scene *scene, uid_t uid, pid_t pid, const char *why)
{
	const ManagedHold hold = { .uid = uid, .is_own = uid == 0, .pid = pid, .why = why };

	managed_holds_add(scene->holds, &hold, on_answer, scene);
}

static bool is_held(const Scene *scene)
{
	g_autofree char *holder = filesystem_hold_holder(scene->uuid);

	return holder;
}

static void test_each_holder_ends_passes_and_is_answered_when_none_runs(Scene *scene,
									const void *data)
{
	scene->pass_runs = true;
	for (unsigned i = 1; i <= 3; i++) {
		add(scene, 0, 10, "");
		g_assert_cmpuint(scene->n_begun, ==, i);
		g_assert_cmpuint(scene->n_changed, ==, i);
		g_assert_cmpuint(managed_holds_count(scene->holds), ==, i);
		g_assert_true(is_held(scene));
	}
	run_loop_for(scene->loop, MOMENT_USEC);
	g_assert_cmpuint(scene->n_answers, ==, 0);

	scene->pass_runs = false;
	wait_for(scene, &scene->n_answers, 3);
	run_loop_for(scene->loop, MOMENT_USEC);
	g_assert_cmpuint(scene->n_answers, ==, 3);
	g_assert_cmpuint(scene->n_errors, ==, 0);
	g_assert_cmpuint(scene->n_begun, ==, 3);
	close(scene->lease_fd);
}

/* The lease may be passed on: only its last owner ends the hold. */
static void test_a_hold_ends_when_its_lease_is_closed_everywhere(Scene *scene, const void *data)
{
	int first_fd, copy_fd;

	add(scene, 0, 10, "first");
	wait_for(scene, &scene->n_answers, 1);
	first_fd = scene->lease_fd;
	copy_fd = dup(first_fd);
	add(scene, 0, 10, "second");
	wait_for(scene, &scene->n_answers, 2);
	g_assert_cmpuint(scene->n_changed, ==, 2);

	close(first_fd);
	run_loop_for(scene->loop, MOMENT_USEC);
	g_assert_cmpuint(managed_holds_count(scene->holds), ==, 2);
	close(copy_fd);
	wait_for(scene, &scene->n_changed, 3);
	g_assert_cmpuint(managed_holds_count(scene->holds), ==, 1);
	g_assert_cmpstr(managed_holds_get(scene->holds, 0).why, ==, "second");
	g_assert_true(is_held(scene));

	close(scene->lease_fd);
	wait_for(scene, &scene->n_changed, 4);
	g_assert_cmpuint(managed_holds_count(scene->holds), ==, 0);
	g_assert_false(is_held(scene));
}

static void test_when_the_service_ends_all_holds_end(Scene *scene, const void *data)
{
	add(scene, 0, 10, "");
	wait_for(scene, &scene->n_answers, 1);
	g_assert_cmpuint(scene->n_errors, ==, 0);
	close(scene->lease_fd);
	scene->pass_runs = true;
	add(scene, 0, 11, "");
	/* It answers those who still wait. */
	g_clear_pointer(&scene->holds, managed_holds_free);
	g_assert_cmpuint(scene->n_answers, ==, 2);
	g_assert_cmpuint(scene->n_errors, ==, 1);
	g_assert_false(is_held(scene));
}

static void test_holders_are_shown_with_their_reasons(Scene *scene, const void *data)
{
	char why[] = "a backup";
	int64_t before_usec = g_get_real_time();
	g_autofree char *text = NULL;
	ManagedHold shown;

	add(scene, 0, 123, why);
	/* It has a copy. */
	why[2] = 'B';
	add(scene, 1000, 0, "");
	add(scene, 1001, 124, "");
	text = managed_holds_text(scene->holds);
	g_assert_cmpstr(text, ==, "on hold by process 123 (a backup), user 1000, process 124");

	shown = managed_holds_get(scene->holds, 1);
	g_assert_cmpuint(shown.uid, ==, 1000);
	g_assert_false(shown.is_own);
	g_assert_cmpint(shown.since_usec, >=, before_usec);
	g_assert_cmpint(shown.since_usec, <=, g_get_real_time());
	g_assert_true(managed_holds_get(scene->holds, 0).is_own);
}

/* Whether there is room for one more hold of @uid. */
static bool has_room(const Scene *scene, uid_t uid)
{
	const ManagedHold wanted = { .uid = uid, .is_own = uid == 0 };

	return managed_holds_have_room(scene->holds, &wanted);
}

static void add_while_there_is_room(Scene *scene, uid_t uid, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		g_assert_true(has_room(scene, uid));
		add(scene, uid, 0, "");
	}
}

static void test_users_leave_room_to_others_and_to_root(Scene *scene, const void *data)
{
	unsigned n_users = MANAGED_HOLDS_OF_OTHERS_MAX / MANAGED_HOLDS_OF_USER_MAX;

	scene->pass_runs = true;
	for (unsigned i = 0; i < n_users; i++) {
		add_while_there_is_room(scene, 1000 + i, MANAGED_HOLDS_OF_USER_MAX);
		g_assert_false(has_room(scene, 1000 + i));
	}
	g_assert_false(has_room(scene, 999));
	add_while_there_is_room(scene, 0, MANAGED_HOLDS_MAX - MANAGED_HOLDS_OF_OTHERS_MAX);
	g_assert_false(has_room(scene, 0));
	g_assert_false(has_room(scene, 999));
}

static void test_root_may_have_all_holds(Scene *scene, const void *data)
{
	scene->pass_runs = true;
	add_while_there_is_room(scene, 0, MANAGED_HOLDS_MAX);
	g_assert_false(has_room(scene, 0));
}

int main(int argc, char **argv)
{
	g_autoptr(Scratch) scratch = scratch_new();

	/* For a user who is not root; the test cannot choose the directory of root's locks. */
	g_setenv("XDG_RUNTIME_DIR", scratch->path, true);
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/managed-hold/" name, Scene, NULL, set_up, test, tear_down)
	ADD("each-holder-ends-passes-and-is-answered-when-none-runs",
	    test_each_holder_ends_passes_and_is_answered_when_none_runs);
	ADD("a-hold-ends-when-its-lease-is-closed-everywhere",
	    test_a_hold_ends_when_its_lease_is_closed_everywhere);
	ADD("when-the-service-ends-all-holds-end", test_when_the_service_ends_all_holds_end);
	ADD("holders-are-shown-with-their-reasons", test_holders_are_shown_with_their_reasons);
	ADD("users-leave-room-to-others-and-to-root", test_users_leave_room_to_others_and_to_root);
	ADD("root-may-have-all-holds", test_root_may_have_all_holds);

	return g_test_run();
}
