/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/watch-samples.h"
#include "cli/client/watch-screen.h"

#include <glib.h>
#include <locale.h>
#include <string.h>

#define SECOND_USEC INT64_C(1000000)
#define NOW_USEC    (INT64_C(1000) * SECOND_USEC)
#define MIB         UINT64_C(1048576)

static void test_a_sample_is_what_was_added_in_a_second(void)
{
	WatchSamples samples = { 0 };

	watch_samples_add(&samples, 10 * SECOND_USEC, 1000, 50);
	g_assert_cmpuint(samples.n, ==, 0);
	watch_samples_add(&samples, 12 * SECOND_USEC, 5000, 50);
	/* Two samples of one moment count once. */
	watch_samples_add(&samples, 12 * SECOND_USEC, 9000, 70);
	/* A disk disappeared with the bytes that it had read. */
	watch_samples_add(&samples, 13 * SECOND_USEC, 0, 80);
	g_assert_cmpuint(samples.n, ==, 2);
	g_assert_cmpuint(samples.read_rates[0], ==, 2000);
	g_assert_cmpuint(samples.freed_rates[0], ==, 0);
	g_assert_cmpuint(samples.read_rates[1], ==, 0);
	g_assert_cmpuint(samples.freed_rates[1], ==, 30);
}

static void test_what_was_before_a_pause_counts_not(void)
{
	WatchSamples samples = { 0 };

	watch_samples_add(&samples, 10 * SECOND_USEC, 0, 0);
	watch_samples_pause(&samples);
	watch_samples_add(&samples, 20 * SECOND_USEC, 5000, 0);
	g_assert_cmpuint(samples.n, ==, 0);
	watch_samples_add(&samples, 21 * SECOND_USEC, 5007, 0);
	g_assert_cmpuint(samples.read_rates[0], ==, 7);
}

static void test_the_oldest_samples_go(void)
{
	WatchSamples samples = { 0 };

	for (int64_t i = 1; i <= WATCH_SAMPLES + 11; i++)
		watch_samples_add(&samples, i * SECOND_USEC, (uint64_t)(i * i), 0);
	g_assert_cmpuint(samples.n, ==, WATCH_SAMPLES);
	g_assert_cmpuint(samples.read_rates[0], ==, 2 * 11 + 1);
	g_assert_cmpuint(samples.read_rates[WATCH_SAMPLES - 1], ==, 2 * (WATCH_SAMPLES + 10) + 1);
}

static DaemonFilesystem running(const char *mount_point)
{
	return (DaemonFilesystem){
		.uuid = (char *)"",
		.kind = (char *)"XFS",
		.mount_point = (char *)mount_point,
		.state = (char *)"running",
		.refusal = (char *)"",
		.waits_for = (char *)"",
		.wait_reason = (char *)"",
		.stage = (char *)"reading",
		.last_outcome = (char *)"",
		.last_error = (char *)"",
		.state_directory = (char *)"",
		.stage_started_usec = (uint64_t)(NOW_USEC - 10 * SECOND_USEC),
		.stage_bytes = 25 * MIB,
		.stage_total_bytes = 100 * MIB,
		.pass_freed_bytes = 3 * MIB,
	};
}

static DaemonFilesystem resting(const char *mount_point)
{
	DaemonFilesystem filesystem = running(mount_point);

	filesystem.state = (char *)"waiting";
	filesystem.stage = (char *)"";
	filesystem.waits_for = (char *)"nothing changed";
	filesystem.last_outcome = (char *)"complete";
	filesystem.last_freed_bytes = 7 * MIB;
	return filesystem;
}

static char **draw(DaemonFilesystem *all, size_t n, const WatchSamples *samples, unsigned width,
		   unsigned height)
{
	g_autoptr(GPtrArray) array = g_ptr_array_new();
	const WatchView view = {
		.all = array,
		.samples = samples,
		.now_usec = NOW_USEC,
		.width = width,
		.height = height,
	};

	for (size_t i = 0; i < n; i++)
		g_ptr_array_add(array, &all[i]);
	return watch_screen_lines(&view);
}

static void test_a_pass_has_a_bar_and_a_rest_has_none(void)
{
	DaemonFilesystem all[] = { running("/srv"), resting("/home") };
	const WatchSamples none = { 0 };
	g_auto(GStrv) lines = draw(all, 2, &none, 100, 24);

	g_assert_cmpuint(g_strv_length(lines), ==, 3);
	g_assert_cmpstr(lines[0], ==,
			"/srv  reading  25 MiB of 100 MiB  2.5 MiB/s  30.0 s left  freed 3 MiB");
	g_assert_cmpstr(lines[1], ==,
			"  [###############.............................................]  25 %");
	g_assert_cmpstr(lines[2], ==,
			"/home  waiting: nothing changed  last pass complete, freed 7 MiB");
}

static void test_nothing_is_wider_or_more_than_the_terminal(void)
{
	DaemonFilesystem all[40];
	WatchSamples samples = { .n = WATCH_SAMPLES };

	for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
		all[i] = running(
			"/a/very/long/mount/point/\xe4\xb8\xad\xe6\x96\x87/of/a/filesystem");
	for (size_t i = 0; i < WATCH_SAMPLES; i++)
		samples.read_rates[i] = samples.freed_rates[i] = i;
	for (unsigned width = 20; width < 130; width += 7)
		for (size_t n = 0; n < G_N_ELEMENTS(all); n += 3) {
			g_auto(GStrv) lines = draw(all, n, &samples, width, 24);

			g_assert_cmpuint(g_strv_length(lines), <=, 24);
			for (char **line = lines; *line; line++)
				g_assert_cmpint(g_utf8_strlen(*line, -1), <=, width);
		}
}

static void test_plots_are_of_what_there_was(void)
{
	DaemonFilesystem all[] = { resting("/home") };
	const WatchSamples samples = { .n = 4, .read_rates = { 0, MIB, 2 * MIB, MIB } };
	g_auto(GStrv) lines = draw(all, 1, &samples, 80, 24);

	g_assert_cmpuint(g_strv_length(lines), ==, 1 + 1 + 1 + 3);
	g_assert_cmpstr(lines[2], ==,
			"asked of disks: 1 MiB/s now, 2 MiB/s at most in what is drawn");
	g_assert_cmpstr(lines[3], ==, "  # ");
	g_assert_cmpstr(lines[5], ==, " ###");
}

static void test_for_a_pipe_there_are_lines_alone(void)
{
	DaemonFilesystem all[] = { running("/a/mount/point/with/a/long/name/\033[2J") };
	const WatchSamples samples = { .n = 1, .read_rates = { 5 } };
	g_auto(GStrv) lines = draw(all, 1, &samples, 20, 0);

	g_assert_cmpuint(g_strv_length(lines), ==, 1);
	g_assert_nonnull(strstr(lines[0], "freed 3 MiB"));
	g_assert_null(strchr(lines[0], '\033'));
}

static void test_trouble_has_a_line_of_its_own(void)
{
	DaemonFilesystem all[] = { resting("/home") };
	const WatchSamples none = { 0 };

	all[0].wait_reason = (char *)"retry";
	all[0].waits_for = (char *)"the last pass failed: no space";
	g_auto(GStrv) lines = draw(all, 1, &none, 80, 24);

	g_assert_cmpuint(g_strv_length(lines), ==, 2);
	g_assert_cmpstr(lines[1], ==, "  ! the last pass failed: no space");
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "C");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/watch/sample", test_a_sample_is_what_was_added_in_a_second);
	g_test_add_func("/watch/pause", test_what_was_before_a_pause_counts_not);
	g_test_add_func("/watch/oldest", test_the_oldest_samples_go);
	g_test_add_func("/watch/bar", test_a_pass_has_a_bar_and_a_rest_has_none);
	g_test_add_func("/watch/fits", test_nothing_is_wider_or_more_than_the_terminal);
	g_test_add_func("/watch/plots", test_plots_are_of_what_there_was);
	g_test_add_func("/watch/pipe", test_for_a_pipe_there_are_lines_alone);
	g_test_add_func("/watch/trouble", test_trouble_has_a_line_of_its_own);
	return g_test_run();
}
