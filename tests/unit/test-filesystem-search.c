/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/filesystem-search.h"
#include "tests/unit/run-loop.h"

#include <string.h>

#define PATIENCE_USEC (10 * G_USEC_PER_SEC)

/* Long enough for a thread to open a missing path. */
#define MOMENT_USEC (G_USEC_PER_SEC / 5)

typedef struct {
	MainLoop *loop;
	unsigned n_answers;
	FilesystemSearch *search; /* freed by the answer */
	GError *error;
} Scene;

static void scene_set_up(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;

	scene->loop = main_loop_new(&error);
	g_assert_no_error(error);
}

static void scene_tear_down(Scene *scene, const void *data)
{
	g_clear_error(&scene->error);
	main_loop_free(scene->loop);
}

static void on_answer(GPtrArray *found, const GError *error, void *data)
{
	Scene *scene = data;

	scene->n_answers++;
	g_assert_null(found);
	g_clear_error(&scene->error);
	scene->error = g_error_copy(error);
	g_clear_pointer(&scene->search, filesystem_search_free);
}

static FilesystemSearch *search_for(Scene *scene, char *path, GError **error)
{
	char *paths[] = { path, NULL };

	return filesystem_search_new(scene->loop, SEARCH_FOR_CALLER, paths, on_answer, scene,
				     error);
}

static void test_the_answer_comes_from_the_loop(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;
	int64_t end_usec = g_get_monotonic_time() + PATIENCE_USEC;
	char path[] = "/nonexistent/path";

	scene->search = search_for(scene, path, &error);
	g_assert_no_error(error);
	/* The search has a copy. */
	path[1] = 'N';
	g_usleep(MOMENT_USEC);
	g_assert_cmpuint(scene->n_answers, ==, 0);
	while (scene->search && g_get_monotonic_time() < end_usec)
		g_assert_cmpint(sd_event_run(scene->loop->event, MOMENT_USEC), >=, 0);
	g_assert_error(scene->error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_PATH);
	g_assert_nonnull(strstr(scene->error->message, "/nonexistent/path"));
	run_loop_for(scene->loop, MOMENT_USEC);
	g_assert_cmpuint(scene->n_answers, ==, 1);
}

static void test_what_is_given_up_answers_nothing(Scene *scene, const void *data)
{
	char path[] = "/nonexistent";

	filesystem_search_free(search_for(scene, path, NULL));
	run_loop_for(scene->loop, MOMENT_USEC);
	g_assert_cmpuint(scene->n_answers, ==, 0);

	scene->search = search_for(scene, path, NULL);
	g_usleep(MOMENT_USEC);
	/* The search has ended, and the loop has not reported it yet. */
	g_clear_pointer(&scene->search, filesystem_search_free);
	run_loop_for(scene->loop, MOMENT_USEC);
	g_assert_cmpuint(scene->n_answers, ==, 0);
}

static void test_threads_that_have_ended_do_not_count(Scene *scene, const void *data)
{
	char path[] = "/nonexistent";

	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < FILESYSTEM_SEARCHES_MAX; j++) {
			g_autoptr(GError) error = NULL;

			filesystem_search_free(search_for(scene, path, &error));
			g_assert_no_error(error);
		}
		g_usleep(MOMENT_USEC);
	}
}

#define ADD(name, test) g_test_add(name, Scene, NULL, scene_set_up, test, scene_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("/filesystem-search/answer", test_the_answer_comes_from_the_loop);
	ADD("/filesystem-search/given-up", test_what_is_given_up_answers_nothing);
	ADD("/filesystem-search/ended", test_threads_that_have_ended_do_not_count);
	return g_test_run();
}
