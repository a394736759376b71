/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/metrics.h"

#include <string.h>

static PassResult last = { .started_usec = 1000000,
			   .ended_usec = 3500000,
			   .ledger = { .pinned = { [PIN_UNCOVERED] = { 1, 4096, 0 } } },
			   .store = { .bytes = 8192 } };

static ManagedView view(void)
{
	return (ManagedView){ .uuid = "u-1",
			      .mount_point = "/srv",
			      .state = MANAGED_WAITING,
			      .has_last = true,
			      .last = &last,
			      .n_passes = 3,
			      .freed_bytes = UINT64_C(1) << 40 };
}

static void assert_has(const ManagedView *shown, const char *line)
{
	g_autofree char *text = metrics_text(shown, 1);

	g_test_message("%s", text);
	g_assert_nonnull(strstr(text, line));
}

static void test_each_filesystem_has_its_figures(void)
{
	ManagedView shown = view();

	assert_has(&shown, "# TYPE dedupd_passes_total counter\n");
	assert_has(&shown, "dedupd_passes_total{uuid=\"u-1\",mount_point=\"/srv\"} 3\n");
	assert_has(&shown,
		   "dedupd_freed_bytes_total{uuid=\"u-1\",mount_point=\"/srv\"} 1099511627776\n");
	assert_has(&shown,
		   "dedupd_last_pass_duration_seconds{uuid=\"u-1\",mount_point=\"/srv\"} 2.5\n");
	assert_has(&shown, "dedupd_running{uuid=\"u-1\",mount_point=\"/srv\"} 0\n");
	shown.state = MANAGED_STOPPING;
	assert_has(&shown, "dedupd_running{uuid=\"u-1\",mount_point=\"/srv\"} 1\n");
}

static void test_of_passes_that_were_not_nothing_is_said(void)
{
	ManagedView shown = view();
	g_autofree char *text = NULL;

	shown.has_last = false;
	text = metrics_text(&shown, 1);
	g_assert_null(strstr(text, "dedupd_last_pass_duration_seconds{"));
	g_assert_nonnull(strstr(text, "dedupd_passes_total{"));
}

static void test_what_is_not_worked_on_is_not_there(void)
{
	ManagedView shown = view();
	g_autofree char *text = NULL;

	shown.state = MANAGED_DISABLED;
	text = metrics_text(&shown, 1);
	g_assert_null(strchr(text, '{'));
}

static void test_names_cannot_break_the_format(void)
{
	ManagedView shown = view();

	shown.mount_point = "/a\"b\\c\nd\xff";
	assert_has(&shown, "mount_point=\"/a\\\"b\\\\c\\nd\xef\xbf\xbd\"}");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/metrics/figures", test_each_filesystem_has_its_figures);
	g_test_add_func("/metrics/no-pass", test_of_passes_that_were_not_nothing_is_said);
	g_test_add_func("/metrics/disabled", test_what_is_not_worked_on_is_not_there);
	g_test_add_func("/metrics/names", test_names_cannot_break_the_format);
	return g_test_run();
}
