/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/metrics/metrics.h"

#include "common/metrics/store-figures.h"
#include "common/text/managed-state.h"

#include <string.h>

static FilesystemMetrics waiting(void)
{
	return (FilesystemMetrics){ .uuid = "u-1",
				    .kind = "XFS",
				    .mount_point = "/srv",
				    .state = "waiting",
				    .wait_reason = "window",
				    .next_usec = 7500000 };
}

static char *text_of(const FilesystemMetrics *shown)
{
	g_autoptr(Metrics) metrics = metrics_new(true);
	g_autoptr(GPtrArray) none = store_figures_new();

	if (shown)
		metrics_add_filesystem(metrics, shown);
	metrics_add_disk(metrics, "sda", UINT64_C(1) << 40);
	return metrics_text(metrics, none);
}

static void assert_has(const FilesystemMetrics *shown, const char *line)
{
	g_autofree char *text = text_of(shown);

	if (!strstr(text, line))
		g_error("no %s in: %s", line, text);
}

static void assert_lacks(const FilesystemMetrics *shown, const char *words)
{
	g_autofree char *text = text_of(shown);

	if (strstr(text, words))
		g_error("%s in: %s", words, text);
}

static void test_the_service_and_its_disks_are_shown(void)
{
	assert_has(NULL, "# TYPE dedupd_service_running gauge\ndedupd_service_running 1\n");
	assert_has(NULL, "\ndedupd_disk_charged_bytes_total{device=\"sda\"} 1099511627776\n");
	assert_lacks(NULL, "uuid=");
}

static void test_one_of_all_states_and_reasons_is_one(void)
{
	FilesystemMetrics shown = waiting();

	assert_has(&shown, "\ndedupd_state{uuid=\"u-1\",state=\"waiting\"} 1\n");
	assert_has(&shown, "\ndedupd_state{uuid=\"u-1\",state=\"running\"} 0\n");
	assert_has(&shown, "\ndedupd_wait_reason{uuid=\"u-1\",reason=\"window\"} 1\n");
	assert_has(&shown, "\ndedupd_wait_reason{uuid=\"u-1\",reason=\"battery\"} 0\n");
	assert_has(&shown, "\ndedupd_next_pass_timestamp_seconds{uuid=\"u-1\"} 7.5\n");
	assert_lacks(&shown, "reason=\"\"");
	shown.state = "running";
	shown.wait_reason = "";
	shown.next_usec = 0;
	assert_has(&shown, "\ndedupd_state{uuid=\"u-1\",state=\"running\"} 1\n");
	assert_lacks(&shown, "dedupd_next_pass_timestamp_seconds{");
	assert_has(&shown, "\ndedupd_wait_reason{uuid=\"u-1\",reason=\"window\"} 0\n");
}

static void test_the_last_pass_of_the_service_is_shown(void)
{
	FilesystemMetrics shown = waiting();

	assert_lacks(&shown, "dedupd_last_pass_outcome{");
	assert_lacks(&shown, "dedupd_last_success_timestamp_seconds{");
	shown.last_outcome = "failed";
	shown.last_started_usec = 1000000;
	shown.last_ended_usec = 3500000;
	shown.is_disk_failing = true;
	assert_has(&shown, "\ndedupd_last_pass_end_timestamp_seconds{uuid=\"u-1\"} 3.5\n");
	assert_has(&shown, "\ndedupd_last_pass_duration_seconds{uuid=\"u-1\"} 2.5\n");
	assert_has(&shown, "\ndedupd_last_pass_outcome{uuid=\"u-1\",outcome=\"failed\"} 1\n");
	assert_has(&shown, "\ndedupd_last_pass_outcome{uuid=\"u-1\",outcome=\"complete\"} 0\n");
	assert_has(&shown, "\ndedupd_disk_failing{uuid=\"u-1\"} 1\n");
	assert_lacks(&shown, "dedupd_last_success_timestamp_seconds{");
	shown.last_outcome = "complete";
	assert_has(&shown, "\ndedupd_last_success_timestamp_seconds{uuid=\"u-1\"} 3.5\n");
}

static void test_a_filesystem_that_is_not_worked_on_is_left_out(void)
{
	FilesystemMetrics shown = waiting();

	shown.state = "disabled";
	assert_lacks(&shown, "uuid=");
	/* Without a service, nothing says so. */
	shown.state = NULL;
	assert_has(&shown, "\ndedupd_filesystem_info{uuid=\"u-1\",");
	assert_lacks(&shown, "dedupd_state{");
	assert_lacks(&shown, "dedupd_wait_reason{");
}

static void test_names_cannot_break_the_format(void)
{
	static const struct {
		const char *mount_point;
		const char *label;
	} cases[] = {
		{ "/srv", "/srv" },
		{ "/a\"b\\c\nd", "/a\\\"b\\\\c\\nd" },
		{ "/\xc3\xa4\xe2\x80\xae", "/\xc3\xa4\xe2\x80\xae" },
		/* These are escaped as on the bus, and the backslashes of that once more. */
		{ "/a\xff", "/a\\\\xff" },
		{ "/a\033[2J\n", "/a\\\\e[2J\\\\n" },
		{ "/a\xc2\x9b", "/a\\\\x" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		FilesystemMetrics shown = waiting();
		g_autofree char *line = g_strdup_printf("mountpoint=\"%s", cases[i].label);

		shown.mount_point = cases[i].mount_point;
		assert_has(&shown, line);
		assert_has(&shown, "\",fstype=\"xfs\"} 1\n");
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/metrics/service", test_the_service_and_its_disks_are_shown);
	g_test_add_func("/metrics/states", test_one_of_all_states_and_reasons_is_one);
	g_test_add_func("/metrics/last-pass", test_the_last_pass_of_the_service_is_shown);
	g_test_add_func("/metrics/left-out", test_a_filesystem_that_is_not_worked_on_is_left_out);
	g_test_add_func("/metrics/names", test_names_cannot_break_the_format);
	return g_test_run();
}
