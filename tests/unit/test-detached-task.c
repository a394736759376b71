/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/detached-task.h"
#include "tests/unit/run-loop.h"

#include <stdatomic.h>

#define PATIENCE_USEC (G_USEC_PER_SEC / 10)

/* Long enough for a thread that does nothing. */
#define MOMENT_USEC (G_USEC_PER_SEC / 5)

/* A task that hangs until it is released. */
typedef struct {
	atomic_bool *may_end;
	atomic_uint *n_freed;
	unsigned outcome;
} Work;

typedef struct {
	MainLoop *loop;
	DetachedTask *task;
	atomic_bool may_end;
	atomic_uint n_freed;
	unsigned n_done, n_late, outcome;
} Scene;

static void work(void *data)
{
	Work *work = data;

	while (!atomic_load(work->may_end))
		g_usleep(1000);
	work->outcome = 42;
}

static void free_work(void *data)
{
	Work *work = data;

	atomic_fetch_add(work->n_freed, 1);
	g_free(work);
}

static const DetachedTaskKind kind = { "task", work, free_work, PATIENCE_USEC };

static void on_done(void *data)
{
	Scene *scene = data;

	scene->n_done++;
	scene->outcome = ((Work *)detached_task_work_data(scene->task))->outcome;
	g_clear_pointer(&scene->task, detached_task_free);
}

static void on_late(void *data)
{
	((Scene *)data)->n_late++;
}

static void scene_set_up(Scene *scene, const void *data)
{
	const DetachedTaskListener listener = { on_done, on_late, scene };
	g_autoptr(GError) error = NULL;
	Work *work = g_new0(Work, 1);

	scene->loop = main_loop_new(&error);
	g_assert_no_error(error);
	work->may_end = &scene->may_end;
	work->n_freed = &scene->n_freed;
	scene->task = detached_task_new(scene->loop, &kind, work, &listener, &error);
	g_assert_no_error(error);
}

static void scene_tear_down(Scene *scene, const void *data)
{
	int64_t end_usec = g_get_monotonic_time() + 50 * MOMENT_USEC;

	g_clear_pointer(&scene->task, detached_task_free);
	atomic_store(&scene->may_end, true);
	while (atomic_load(&scene->n_freed) == 0 && g_get_monotonic_time() < end_usec)
		g_usleep(1000);
	g_assert_cmpuint(atomic_load(&scene->n_freed), ==, 1);
	main_loop_free(scene->loop);
}

static void test_who_is_done_in_time_is_not_late(Scene *scene, const void *data)
{
	g_assert_null(detached_task_work_data(scene->task));
	atomic_store(&scene->may_end, true);
	run_loop_for(scene->loop, 2 * PATIENCE_USEC);
	g_assert_cmpuint(scene->n_done, ==, 1);
	g_assert_cmpuint(scene->n_late, ==, 0);
	g_assert_cmpuint(scene->outcome, ==, 42);
}

static void test_who_hangs_is_late_once_and_may_be_done_later(Scene *scene, const void *data)
{
	run_loop_for(scene->loop, 3 * PATIENCE_USEC);
	g_assert_cmpuint(scene->n_late, ==, 1);
	g_assert_cmpuint(scene->n_done, ==, 0);
	g_assert_false(detached_task_is_done(scene->task));
	atomic_store(&scene->may_end, true);
	run_loop_for(scene->loop, MOMENT_USEC);
	g_assert_cmpuint(scene->n_done, ==, 1);
	g_assert_cmpuint(scene->n_late, ==, 1);
}

static void test_who_is_freed_says_nothing(Scene *scene, const void *data)
{
	g_clear_pointer(&scene->task, detached_task_free);
	g_assert_cmpuint(atomic_load(&scene->n_freed), ==, 0);
	run_loop_for(scene->loop, 2 * PATIENCE_USEC);
	atomic_store(&scene->may_end, true);
	run_loop_for(scene->loop, MOMENT_USEC);
	g_assert_cmpuint(scene->n_done + scene->n_late, ==, 0);
}

static void test_another_listener_is_told_instead(Scene *scene, const void *data)
{
	Scene other = { .loop = scene->loop };
	const DetachedTaskListener listener = { .done = on_done, .data = &other };

	detached_task_set_listener(scene->task, &listener);
	other.task = g_steal_pointer(&scene->task);
	run_loop_for(other.loop, 2 * PATIENCE_USEC);
	atomic_store(&scene->may_end, true);
	run_loop_for(other.loop, MOMENT_USEC);
	g_assert_cmpuint(other.n_done, ==, 1);
	g_assert_null(other.task);
	g_assert_cmpuint(scene->n_done + scene->n_late + other.n_late, ==, 0);
}

#define ADD(name, test) g_test_add(name, Scene, NULL, scene_set_up, test, scene_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("/task/in-time", test_who_is_done_in_time_is_not_late);
	ADD("/task/late", test_who_hangs_is_late_once_and_may_be_done_later);
	ADD("/task/freed", test_who_is_freed_says_nothing);
	ADD("/task/listener", test_another_listener_is_told_instead);
	return g_test_run();
}
