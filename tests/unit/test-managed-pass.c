/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/filesystem.h"
#include "daemon/manager/managed-pass.h"
#include "tests/unit/run-loop.h"

#include <string.h>

#define PATIENCE_USEC (10 * G_USEC_PER_SEC)

/* Long enough for a thread to open a missing path. */
#define MOMENT_USEC (G_USEC_PER_SEC / 5)

/* Passes over paths that do not exist, so that none begins. */
typedef struct {
	MainLoop *loop;
	DiskTable *disks;
	Settings *settings;
	ManagedPass *pass;
	unsigned n_changed, n_left, n_not_begun;
	GError *error; /* of the last one that did not begin */
} Scene;

static void on_changed(void *data)
{
	((Scene *)data)->n_changed++;
}

static Filesystem *on_take(GPtrArray *found, void *data, GError **error)
{
	g_assert_not_reached();
}

static void on_leave(FilesystemSearch *search, void *data)
{
	((Scene *)data)->n_left++;
	filesystem_search_free(search);
}

static void on_not_begun(const GError *error, void *data)
{
	Scene *scene = data;

	g_assert_false(managed_pass_runs(scene->pass));
	scene->n_not_begun++;
	g_clear_error(&scene->error);
	scene->error = g_error_copy(error);
}

static void on_ended(EndedPass *ended, void *data)
{
	g_assert_not_reached();
}

static void set_up(Scene *scene, const void *data)
{
	const ManagedPassListener listener = { on_changed,   on_take,  on_leave,
					       on_not_begun, on_ended, scene };
	g_autoptr(GError) error = NULL;

	scene->loop = main_loop_new(&error);
	g_assert_no_error(error);
	scene->disks = disk_table_new();
	scene->settings = settings_new();
	scene->pass = managed_pass_new(scene->loop, scene->disks, NULL, &listener);
}

static void tear_down(Scene *scene, const void *data)
{
	g_clear_error(&scene->error);
	managed_pass_free(scene->pass);
	settings_unref(scene->settings);
	disk_table_free(scene->disks);
	main_loop_free(scene->loop);
}

static void wait_until_it_ends(const Scene *scene)
{
	int64_t end_usec = g_get_monotonic_time() + PATIENCE_USEC;

	while (managed_pass_runs(scene->pass) && g_get_monotonic_time() < end_usec)
		g_assert_cmpint(sd_event_run(scene->loop->event, MOMENT_USEC), >=, 0);
	g_assert_false(managed_pass_runs(scene->pass));
}

static void begin(Scene *scene, const RunRequest *request)
{
	char path[] = "/nonexistent/path";
	char *const paths[] = { path, NULL };
	int64_t before_usec = g_get_real_time();
	g_autoptr(GError) error = NULL;

	g_assert_true(managed_pass_begin(scene->pass, request ? NULL : paths, request,
					 scene->settings, &error));
	g_assert_no_error(error);
	g_assert_true(managed_pass_runs(scene->pass));
	g_assert_false(managed_pass_is_ending(scene->pass));
	g_assert_cmpint(managed_pass_begun_usec(scene->pass), >=, before_usec);
	g_assert_cmpint(managed_pass_begun_usec(scene->pass), <=, g_get_real_time());
}

static RunRequest *request_new(const char *path, const char *wish)
{
	char *const paths[] = { (char *)path, NULL };
	char *const wishes[] = { (char *)wish, NULL };
	g_autoptr(GError) error = NULL;
	RunRequest *request = run_request_new(paths, wishes, &error);

	g_assert_no_error(error);
	return request;
}

/* A search of the filesystem's own paths is left to its owner; that of a caller is not. */
static void test_a_pass_whose_paths_are_missing_does_not_begin(Scene *scene, const void *data)
{
	g_autoptr(RunRequest) request = request_new("/nonexistent/asked", NULL);

	for (unsigned i = 1; i <= 2; i++) {
		begin(scene, NULL);
		wait_until_it_ends(scene);
		g_assert_cmpuint(scene->n_not_begun, ==, i);
		g_assert_cmpuint(scene->n_left, ==, i);
		g_assert_error(scene->error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_PATH);
		g_assert_nonnull(strstr(scene->error->message, "/nonexistent/path"));
		g_assert_null(managed_pass_settings(scene->pass));
	}

	begin(scene, request);
	wait_until_it_ends(scene);
	g_assert_cmpuint(scene->n_not_begun, ==, 3);
	g_assert_cmpuint(scene->n_left, ==, 2);
	g_assert_nonnull(strstr(scene->error->message, "/nonexistent/asked"));
}

static void test_a_pass_that_is_ended_during_the_search_is_given_up_at_once(Scene *scene,
									    const void *data)
{
	begin(scene, NULL);
	g_assert_true(managed_pass_end(scene->pass, END_FOR_STOP));
	g_assert_false(managed_pass_runs(scene->pass));
	g_assert_cmpuint(scene->n_left, ==, 1);
	/* Nothing is left to end. */
	g_assert_false(managed_pass_end(scene->pass, END_FOR_STOP));
	run_loop_for(scene->loop, MOMENT_USEC);
	g_assert_cmpuint(scene->n_not_begun, ==, 0);

	begin(scene, NULL);
	wait_until_it_ends(scene);
	g_assert_cmpuint(scene->n_not_begun, ==, 1);
}

static void test_a_request_changes_the_settings_of_its_pass_alone(Scene *scene, const void *data)
{
	g_autoptr(RunRequest) wanted = request_new("/nonexistent/asked", "dry-run");

	begin(scene, wanted);
	g_assert_true(managed_pass_settings(scene->pass)->dry_run);
	g_assert_false(scene->settings->dry_run);
	g_assert_true(managed_pass_end(scene->pass, END_FOR_STOP));

	begin(scene, NULL);
	g_assert_true(managed_pass_settings(scene->pass) == scene->settings);
	g_assert_true(managed_pass_end(scene->pass, END_FOR_STOP));
}

/* A pass that ended by itself, or for something else, was not ended for the reason. */
static void test_only_one_reason_ended_a_pass(Scene *scene, const void *data)
{
	EndedPass ended = {
		.result = { .outcome = PASS_INTERRUPTED },
		.was_ended = true,
		.reason = END_FOR_HOLD,
	};
	char reason[] = "a disk fails";

	g_assert_true(ended_pass_was_for(&ended, END_FOR_HOLD));
	g_assert_false(ended_pass_was_for(&ended, END_FOR_STOP));
	ended.result.stopped_reason = reason;
	g_assert_false(ended_pass_was_for(&ended, END_FOR_HOLD));
	ended.result.stopped_reason = NULL;
	ended.was_ended = false;
	g_assert_false(ended_pass_was_for(&ended, END_FOR_HOLD));
	ended.was_ended = true;
	ended.result.outcome = PASS_COMPLETE;
	g_assert_false(ended_pass_was_for(&ended, END_FOR_HOLD));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/managed-pass/" name, Scene, NULL, set_up, test, tear_down)
	ADD("a-pass-whose-paths-are-missing-does-not-begin",
	    test_a_pass_whose_paths_are_missing_does_not_begin);
	ADD("a-pass-that-is-ended-during-the-search-is-given-up-at-once",
	    test_a_pass_that_is_ended_during_the_search_is_given_up_at_once);
	ADD("a-request-changes-the-settings-of-its-pass-alone",
	    test_a_request_changes_the_settings_of_its_pass_alone);
	ADD("only-one-reason-ended-a-pass", test_only_one_reason_ended_a_pass);

	return g_test_run();
}
