/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/metrics-writer.h"

#include "common/metrics/metrics-file.h"
#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <string.h>
#include <unistd.h>

#define PATIENCE_USEC (20 * G_USEC_PER_SEC)

typedef struct {
	Scratch *scratch;
	MainLoop *loop;
	MetricsWriter *writer;
	char *one, *other, *stores;
	unsigned n_collected;
} Scene;

static Metrics *collect(void *data)
{
	Scene *scene = data;
	Metrics *metrics = metrics_new(true);

	metrics_add_disk(metrics, "sda", ++scene->n_collected);
	return metrics;
}

static void scene_set_up(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;

	scene->scratch = scratch_new();
	scene->one = scratch_path(scene->scratch, "one.prom");
	scene->other = scratch_path(scene->scratch, "other.prom");
	scene->stores = scratch_path(scene->scratch, "stores");
	scene->loop = main_loop_new(&error);
	g_assert_no_error(error);
	scene->writer = metrics_writer_new(scene->loop, collect, scene, &error);
	g_assert_no_error(error);
}

static void scene_tear_down(Scene *scene, const void *data)
{
	metrics_writer_free(scene->writer);
	main_loop_free(scene->loop);
	scratch_free(scene->scratch);
	g_free(scene->one);
	g_free(scene->other);
	g_free(scene->stores);
}

static bool has(const char *path, const char *line)
{
	g_autofree char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) && strstr(text, line);
}

static void wait_for(Scene *scene, const char *path, const char *line)
{
	gint64 end_usec = g_get_monotonic_time() + PATIENCE_USEC;

	while (!has(path, line)) {
		g_assert_cmpint(g_get_monotonic_time(), <, end_usec);
		g_assert_cmpint(sd_event_run(scene->loop->event, 10000), >=, 0);
	}
	/* Its end reaches main a moment after the file is there. */
	for (int i = 0; i < 10; i++)
		g_assert_cmpint(sd_event_run(scene->loop->event, 10000), >=, 0);
}

/* Begin a task, whose end main has not seen. */
static void begin_writing(Scene *scene)
{
	metrics_writer_set_file(scene->writer, scene->one, scene->stores);
	while (scene->n_collected == 0)
		g_assert_cmpint(sd_event_run(scene->loop->event, 10000), >=, 0);
}

static void test_nothing_is_written_without_a_file(Scene *scene, const void *data)
{
	metrics_writer_set_file(scene->writer, NULL, scene->stores);
	metrics_writer_outdate(scene->writer);
	for (int i = 0; i < 10; i++)
		sd_event_run(scene->loop->event, 10000);
	metrics_writer_end(scene->writer);
	g_assert_cmpuint(scene->n_collected, ==, 0);
}

static void test_each_change_is_written(Scene *scene, const void *data)
{
	metrics_writer_set_file(scene->writer, scene->one, scene->stores);
	wait_for(scene, scene->one, "{device=\"sda\"} 1\n");
	metrics_writer_outdate(scene->writer);
	metrics_writer_outdate(scene->writer);
	wait_for(scene, scene->one, "{device=\"sda\"} 2\n");
	g_assert_cmpuint(scene->n_collected, ==, 2);
}

static void test_an_earlier_file_is_deleted(Scene *scene, const void *data)
{
	metrics_writer_set_file(scene->writer, scene->one, scene->stores);
	wait_for(scene, scene->one, "{device=\"sda\"} 1\n");
	metrics_writer_set_file(scene->writer, scene->other, scene->stores);
	wait_for(scene, scene->other, "{device=\"sda\"} 2\n");
	g_assert_false(g_file_test(scene->one, G_FILE_TEST_EXISTS));
	metrics_writer_set_file(scene->writer, NULL, scene->stores);
	g_assert_false(g_file_test(scene->other, G_FILE_TEST_EXISTS));
}

static void test_a_change_at_the_end_of_a_task_is_written(Scene *scene, const void *data)
{
	begin_writing(scene);
	for (int i = 0; i < 100 && !has(scene->one, "sda"); i++)
		g_usleep(10000);
	g_usleep(10000);
	metrics_writer_outdate(scene->writer);
	wait_for(scene, scene->one, "{device=\"sda\"} 2\n");
}

static void test_a_file_that_was_being_written_is_deleted(Scene *scene, const void *data)
{
	begin_writing(scene);
	metrics_writer_set_file(scene->writer, scene->other, scene->stores);
	wait_for(scene, scene->other, "{device=\"sda\"} 2\n");
	g_assert_false(g_file_test(scene->one, G_FILE_TEST_EXISTS));
}

static void test_the_end_of_the_service_is_written(Scene *scene, const void *data)
{
	metrics_writer_set_file(scene->writer, scene->one, scene->stores);
	wait_for(scene, scene->one, "dedupd_service_running 1\n");
	metrics_writer_end(scene->writer);
	g_assert_true(has(scene->one, "dedupd_service_running 0\n"));
	g_assert_false(has(scene->one, "sda"));
}

static void test_a_service_that_could_not_start_writes_nothing(Scene *scene, const void *data)
{
	metrics_writer_set_file(scene->writer, scene->one, scene->stores);
	metrics_writer_end(scene->writer);
	g_assert_false(g_file_test(scene->one, G_FILE_TEST_EXISTS));
}

static void test_the_file_is_claimed_while_the_service_runs(Scene *scene, const void *data)
{
	g_auto(Fd) claim = -1;

	g_assert_true(metrics_file_claim(scene->other, &claim));
	if (claim < 0) {
		g_test_skip("this user has no place for locks");
		return;
	}
	fd_close(&claim);
	metrics_writer_set_file(scene->writer, scene->one, scene->stores);
	wait_for(scene, scene->one, "dedupd_service_running 1\n");
	g_assert_false(metrics_file_claim(scene->one, &claim));
	g_clear_pointer(&scene->writer, metrics_writer_free);
	g_assert_true(metrics_file_claim(scene->one, &claim));
}

#define ADD(name, test) g_test_add(name, Scene, NULL, scene_set_up, test, scene_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("/metrics-writer/none", test_nothing_is_written_without_a_file);
	ADD("/metrics-writer/change", test_each_change_is_written);
	ADD("/metrics-writer/earlier", test_an_earlier_file_is_deleted);
	ADD("/metrics-writer/change-at-the-end", test_a_change_at_the_end_of_a_task_is_written);
	ADD("/metrics-writer/replaced", test_a_file_that_was_being_written_is_deleted);
	ADD("/metrics-writer/end", test_the_end_of_the_service_is_written);
	ADD("/metrics-writer/not-started", test_a_service_that_could_not_start_writes_nothing);
	ADD("/metrics-writer/claim", test_the_file_is_claimed_while_the_service_runs);
	return g_test_run();
}
