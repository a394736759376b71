/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config.h"
#include "common/content/winnow.h"
#include "daemon/settings/options.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define ARGUMENTS_MAX 24

/* One argument a line. */
const char *const fuzz_seeds[] = {
	"--once\n/srv",
	"--once\n--memory\n64M\n--min-size=0\n/a\n/b",
	"--zeros\nhole\n--once\n/a",
	"--exclude\n*.tmp\n--exclude=x\n--once\n/a",
	"--anchor-blocks=16\n--window\n64\n--once\n/a",
	"--once\n-qv\n/a",
	"--once\n--config=none\n--now\n--across-owners=no\n--min-age=1h 30min",
	"--once\n--\n--json",
	"--pressure=off\n--verbose",
	"--json",
	"--state-dir=\xff\n--limit-rate\n1.5G\n--once\n/a",
	"--dry-run\n--json\n--rebuild\n--quiet\n--once\n/a",
	NULL,
};

/* --help ends the process, and --version writes. */
static bool is_for_people(const char *argument)
{
	if (g_str_has_prefix(argument, "--"))
		return g_str_has_prefix(argument, "--help") ||
		       g_str_has_prefix(argument, "--version");

	return *argument == '-' && strpbrk(argument, "h?");
}

static void check(const Settings *settings)
{
	g_assert_true(settings->once ||
		      !(settings->paths || settings->now || settings->json || settings->rebuild));
	g_assert_cmpint(settings->state_directory[0], !=, '\0');
	g_assert_cmpuint(settings->memory_bytes, >=, 4 << 20);
	g_assert_cmpuint(settings->anchor_blocks, <=, WINNOW_ANCHOR_BLOCKS_MAX);
	g_assert_cmpuint(settings->window_anchors, !=, 1);
	g_assert_cmpuint(settings->window_anchors, <=, WINNOW_WINDOW_MAX);
	g_assert_false(settings->quiet && settings->verbose);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_auto(GStrv) lines = g_strsplit(text, "\n", ARGUMENTS_MAX);
	g_autoptr(GPtrArray) given = g_ptr_array_new();
	g_auto(GStrv) arguments = NULL;
	g_autoptr(Config) config = config_new();
	g_auto(Settings) settings = { 0 };
	g_autoptr(GError) error = NULL;
	bool done = false;

	g_ptr_array_add(given, (char *)"dedupd");
	for (char **line = lines; *line; line++)
		if (!is_for_people(*line))
			g_ptr_array_add(given, *line);
	g_ptr_array_add(given, NULL);
	arguments = g_strdupv((char **)given->pdata);

	config_settings(config, NULL, &settings);
	if (options_parse(&arguments, &settings, &done, &error)) {
		g_assert_no_error(error);
		g_assert_false(done);
		check(&settings);
	} else {
		g_assert_nonnull(error);
		g_assert_cmpint(error->message[0], !=, '\0');
	}
	return 0;
}
