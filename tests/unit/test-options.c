/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings/options.h"

#include "common/config/config.h"
#include "common/text/state-directory.h"

#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* Parse @line, whose arguments are separated by spaces. */
static bool parse(const char *line, Settings *settings, bool *ret_done, GError **error)
{
	g_autofree char *whole = g_strconcat("dedupd ", line, NULL);
	g_auto(GStrv) arguments = g_strsplit(whole, " ", -1);
	g_autoptr(Config) config = config_new();

	config_settings(config, NULL, settings);
	return options_parse(&arguments, settings, ret_done, error);
}

static void parse_well(const char *line, Settings *settings)
{
	g_autoptr(GError) error = NULL;
	bool done = true;

	if (!parse(line, settings, &done, &error))
		g_error("%s: %s", line, error->message);
	g_assert_false(done);
}

static void test_what_changed_is_gone_by_within_a_time(void)
{
	g_auto(Settings) settings = { 0 };

	parse_well("--once --changed --run-for=90s /srv", &settings);
	g_assert_true(settings.only_changed);
	g_assert_cmpuint(settings.run_for_usec, ==, 90 * G_USEC_PER_SEC);
}

static void test_a_path_alone_has_the_defaults(void)
{
	g_autofree char *state_directory = state_directory_default();
	g_auto(Settings) settings = { 0 };

	parse_well("--once /srv", &settings);
	g_assert_true(settings.once);
	g_assert_cmpuint(g_strv_length(settings.paths), ==, 1);
	g_assert_cmpstr(settings.paths[0], ==, "/srv");
	g_assert_cmpstr(settings.state_directory, ==, state_directory);
	g_assert_null(settings.excludes);
	g_assert_cmpuint(settings.memory_bytes, ==, 64 * MIB);
	g_assert_cmpuint(settings.min_size_bytes, ==, SETTINGS_MIN_SIZE_UNSET);
	g_assert_cmpuint(settings.min_run_bytes, ==, 64 << 10);
	g_assert_cmpuint(settings.store_limit_bytes, ==, SETTINGS_STORE_LIMIT_AUTO);
	g_assert_cmpuint(settings.rate_bytes, ==, 0);
	g_assert_cmpuint(settings.run_for_usec, ==, 0);
	g_assert_false(settings.only_changed);
	g_assert_cmpuint(settings.rate_requests, ==, 0);
	g_assert_cmpint(settings.pressure, ==, PRESSURE_AUTO);
	g_assert_cmpint(settings.rotating, ==, ROTATING_AUTO);
	g_assert_cmpint(settings.priority, ==, PRIORITY_NORMAL);
	g_assert_cmpuint(settings.anchor_blocks, ==, SETTINGS_ANCHORS_UNSET);
	g_assert_cmpuint(settings.window_anchors, ==, SETTINGS_ANCHORS_UNSET);
	g_assert_cmpint(settings.zeros, ==, ZEROS_AUTO);
	g_assert_cmpint(settings.find, ==, FIND_AUTO);
	g_assert_cmpint(settings.read, ==, READ_POLICY_ALL);
	g_assert_cmpint(settings.read_only_snapshots, ==, SNAPSHOTS_AUTO);
	g_assert_cmpint(settings.no_data_cow, ==, NO_COW_SKIP);
	g_assert_cmpint(settings.compressed, ==, COMPRESSED_SUMS);
	g_assert_cmpint(settings.rewrite, ==, REWRITE_AUTO);
	g_assert_cmpint(settings.across_owners, ==, ACROSS_OWNERS);
	g_assert_cmpuint(settings.min_age_usec, ==, 0);
	g_assert_null(settings.config);
	g_assert_false(settings.now || settings.queue);
	g_assert_false(settings.dry_run || settings.rebuild || settings.json || settings.quiet ||
		       settings.verbose);
}

static void test_every_option_is_taken(void)
{
	g_auto(Settings) settings = { 0 };

	parse_well(
		"--once --dry-run --json --rebuild --quiet --state-dir=/state --memory 100M "
		"--min-size 0 --min-run 12K --store-limit=2G --exclude *.tmp --exclude=/a/b "
		"--zeros hole --find "
		"read --read=same-size "
		"--read-only-snapshots source --no-data-cow=share "
		"--compressed read --rewrite never --across-owners=no --min-age 2h --now --queue "
		"--changing=read "
		"--config /c "
		"--limit-rate 1.5M --limit-iops 120 --pressure on --rotating=no --priority=idle "
		"--anchor-blocks 1 --window=64 /a /b",
		&settings);
	g_assert_true(settings.once && settings.dry_run && settings.json && settings.rebuild &&
		      settings.quiet);
	g_assert_cmpstr(settings.state_directory, ==, "/state");
	g_assert_cmpuint(settings.memory_bytes, ==, 100 * MIB);
	g_assert_cmpuint(settings.min_size_bytes, ==, 0);
	g_assert_cmpuint(settings.min_run_bytes, ==, 12 << 10);
	g_assert_cmpuint(settings.store_limit_bytes, ==, UINT64_C(2) << 30);
	g_assert_cmpint(settings.across_owners, ==, WITHIN_OWNERS);
	g_assert_cmpint(settings.changing, ==, CHANGING_READ);
	g_assert_cmpuint(settings.min_age_usec, ==, 2 * G_TIME_SPAN_HOUR);
	g_assert_cmpstr(settings.config, ==, "/c");
	g_assert_true(settings.now && settings.queue);
	g_assert_cmpstr(settings.excludes[0], ==, "*.tmp");
	g_assert_cmpstr(settings.excludes[1], ==, "/a/b");
	g_assert_null(settings.excludes[2]);
	g_assert_cmpint(settings.zeros, ==, ZEROS_HOLE);
	g_assert_cmpint(settings.find, ==, FIND_READ);
	g_assert_cmpint(settings.read, ==, READ_POLICY_SAME_SIZE);
	g_assert_cmpint(settings.read_only_snapshots, ==, SNAPSHOTS_SOURCE);
	g_assert_cmpint(settings.no_data_cow, ==, NO_COW_SHARE);
	g_assert_cmpint(settings.compressed, ==, COMPRESSED_READ);
	g_assert_cmpint(settings.rewrite, ==, REWRITE_NEVER);
	g_assert_cmpuint(settings.rate_bytes, ==, 3 * MIB / 2);
	g_assert_cmpuint(settings.rate_requests, ==, 120);
	g_assert_cmpint(settings.pressure, ==, PRESSURE_ON);
	g_assert_cmpint(settings.rotating, ==, ROTATING_NO);
	g_assert_cmpint(settings.priority, ==, PRIORITY_IDLE);
	g_assert_cmpuint(settings.anchor_blocks, ==, 1);
	g_assert_cmpuint(settings.window_anchors, ==, 64);
	g_assert_cmpuint(g_strv_length(settings.paths), ==, 2);
}

static void test_short_options_and_a_double_dash_are_taken(void)
{
	g_auto(Settings) verbose = { 0 };
	g_auto(Settings) dashed = { 0 };

	parse_well("-v --once /a", &verbose);
	g_assert_true(verbose.verbose);
	parse_well("--once -q -- --json", &dashed);
	g_assert_true(dashed.quiet);
	g_assert_false(dashed.json);
	/* The file's name is --json. */
	g_assert_true(g_str_has_suffix(dashed.paths[0], "--json"));
}

static void test_values_at_the_edges_are_taken(void)
{
	static const char *const lines[] = {
		"--once --memory 4M /a",        "--once --limit-rate 1 /a",
		"--once --anchor-blocks 16 /a", "--once --window 2 /a",
		"--once --min-size 16383P /a",  "--once --zeros keep /a",
		"--once --min-size auto /a",    "--once --limit-rate none /a",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_auto(Settings) settings = { 0 };

		parse_well(lines[i], &settings);
	}
}

static void test_what_is_wrong_is_refused_by_name(void)
{
	static const struct {
		const char *line;
		const char *named; /* what is wrong */
		const char *right; /* what would be right */
	} cases[] = {
		{ "--once --memory 64KB /a", "--memory", "64K" },
		{ "--once --memory 4095K /a", "--memory: \"4095K\"", "at least 4M" },
		{ "--once --memory -1 /a", "--memory", "4096" },
		{ "--once --min-size x /a", "--min-size", "4096" },
		{ "--once --limit-rate 0 /a", "--limit-rate: \"0\"", "none or a size" },
		{ "--once --limit-rate fast /a", "--limit-rate", "64K" },
		{ "--once --limit-iops -1 /a", "--limit-iops: \"-1\"", "0 is no limit" },
		{ "--once --pressure 5 /a", "--pressure: \"5\"", "auto, on or off" },
		{ "--once --priority high /a", "--priority: \"high\"", "normal or idle" },
		{ "--once --zeros maybe /a", "--zeros: \"maybe\"", "auto, hole, keep or share" },
		{ "--once --zeros= /a", "--zeros: a value is missing",
		  "auto, hole, keep or share" },
		{ "--once --find fast /a", "--find: \"fast\"", "auto, checksums or read" },
		{ "--once --read some /a", "--read: \"some\"", "all or same-size" },
		{ "--once --read-only-snapshots keep /a", "--read-only-snapshots: \"keep\"",
		  "auto, share, writable, source or skip" },
		{ "--once --no-data-cow yes /a", "--no-data-cow: \"yes\"", "skip or share" },
		{ "--once --compressed both /a", "--compressed: \"both\"", "sums or read" },
		{ "--once --rewrite always /a", "--rewrite: \"always\"", "auto, more or never" },
		{ "--once --changing never /a", "--changing: \"never\"", "wait or read" },
		{ "--once --anchor-blocks 0 /a", "--anchor-blocks: \"0\"", "1 to 16" },
		{ "--once --anchor-blocks 17 /a", "--anchor-blocks: \"17\"", "1 to 16" },
		{ "--once --anchor-blocks -4 /a", "--anchor-blocks: \"-4\"", "1 to 16" },
		{ "--once --anchor-blocks four /a", "anchor-blocks", "four" },
		{ "--once --anchor-blocks 99999999999 /a", "anchor-blocks", "99999999999" },
		{ "--once --window 1 /a", "--window: \"1\"", "2 to 64" },
		{ "--once --window 65 /a", "--window: \"65\"", "2 to 64" },
		{ "--once --state-dir= /a", "--state-dir", "empty" },
		{ "--once --across-owners maybe /a", "--across-owners", "yes or no" },
		{ "--once --min-age 5 /a", "--min-age", "30min" },
		{ "--once --config= /a", "--config", "none" },
		{ "--once --quiet --verbose /a", "--quiet", "--verbose" },
		{ "/a", "--once", "PATH" },
		{ "--once --bogus /a", "--bogus", "" },
		{ "--once -x /a", "-x", "" },
		{ "--once /a --memory", "memory", "" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(Settings) settings = { 0 };
		g_autoptr(GError) error = NULL;
		bool done = false;

		if (parse(cases[i].line, &settings, &done, &error))
			g_error("%s was taken", cases[i].line);
		g_assert_cmpint(error->domain, ==, G_OPTION_ERROR);
		g_assert_false(done);
		if (!strstr(error->message, cases[i].named) ||
		    !strstr(error->message, cases[i].right))
			g_error("%s: %s", cases[i].line, error->message);
	}
}

static void test_what_is_refused_is_shown_fit_for_a_terminal(void)
{
	static const char *const lines[] = {
		"--once --zeros \033[2J /a",
		"--once --memory 5\033[2J /a",
		"--once --limit-rate \033[2J /a",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_auto(Settings) settings = { 0 };
		g_autoptr(GError) error = NULL;
		bool done;

		g_assert_false(parse(lines[i], &settings, &done, &error));
		g_assert_null(strchr(error->message, '\033'));
	}
}

static void test_paths_and_globs_are_bytes(void)
{
	g_auto(Settings) settings = { 0 };

	parse_well("--once --exclude \xff* /\xfe\n", &settings);
	g_assert_cmpstr(settings.excludes[0], ==, "\xff*");
	g_assert_cmpstr(settings.paths[0], ==, "/\xfe\n");
}

static void test_the_version_is_told(void)
{
	if (g_test_subprocess()) {
		g_auto(Settings) settings = { 0 };
		bool done = false;

		g_assert_true(parse("--version", &settings, &done, NULL));
		exit(done ? 0 : 1);
	}

	g_test_trap_subprocess(NULL, 0, 0);
	g_test_trap_assert_passed();
	g_test_trap_assert_stdout("dedupd *.*.*\n");
}

static void test_help_names_every_option(void)
{
	static const char *const options[] = {
		"--once",          "--dry-run",       "--json",     "--state-dir=DIR",
		"--memory=SIZE",   "--min-size",      "--exclude",  "--zeros",
		"--limit-rate",    "--limit-iops",    "--pressure", "--priority",
		"--anchor-blocks", "--window=auto|N", "--rebuild",  "-q, --quiet",
		"-v, --verbose",   "--version",       "[PATH",
	};

	if (g_test_subprocess()) {
		g_auto(Settings) settings = { 0 };
		bool done;

		exit(parse("--help", &settings, &done, NULL));
	}

	g_test_trap_subprocess(NULL, 0, 0);
	g_test_trap_assert_passed();
	for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
		g_autofree char *pattern = g_strdup_printf("*%s*", options[i]);

		g_test_trap_assert_stdout(pattern);
	}
}

static void test_what_is_not_given_stays_as_it_was_configured(void)
{
	static const char text[] = "[Dedupd]\nZeros=keep\nFind=read\nMemory=8M\nAnchorBlocks=8\n"
				   "AnchorWindow=32\nStateDirectory=/configured\nMinAge=1d\n";
	g_auto(GStrv) arguments = g_strsplit("dedupd --once --find auto --window 2 /a", " ", -1);
	g_autoptr(Config) config = config_new();
	g_auto(Settings) settings = { 0 };
	g_autoptr(GError) error = NULL;
	bool done;

	g_assert_true(config_add(config, "f", text, strlen(text), &error));
	config_settings(config, NULL, &settings);
	g_assert_true(options_parse(&arguments, &settings, &done, &error));
	g_assert_cmpint(settings.zeros, ==, ZEROS_KEEP);
	g_assert_cmpint(settings.find, ==, FIND_AUTO);
	g_assert_cmpuint(settings.memory_bytes, ==, 8 * MIB);
	g_assert_cmpuint(settings.anchor_blocks, ==, 8);
	g_assert_cmpuint(settings.window_anchors, ==, 2);
	g_assert_cmpuint(settings.min_age_usec, ==, G_TIME_SPAN_DAY);
	g_assert_cmpstr(settings.state_directory, ==, "/configured");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/options/a-path-alone-has-the-defaults",
			test_a_path_alone_has_the_defaults);
	g_test_add_func("/options/every-option-is-taken", test_every_option_is_taken);
	g_test_add_func("/options/changed", test_what_changed_is_gone_by_within_a_time);
	g_test_add_func("/options/short-options-and-a-double-dash-are-taken",
			test_short_options_and_a_double_dash_are_taken);
	g_test_add_func("/options/values-at-the-edges-are-taken",
			test_values_at_the_edges_are_taken);
	g_test_add_func("/options/what-is-wrong-is-refused-by-name",
			test_what_is_wrong_is_refused_by_name);
	g_test_add_func("/options/what-is-refused-is-shown-fit-for-a-terminal",
			test_what_is_refused_is_shown_fit_for_a_terminal);
	g_test_add_func("/options/what-is-not-given-stays-as-it-was-configured",
			test_what_is_not_given_stays_as_it_was_configured);
	g_test_add_func("/options/paths-and-globs-are-bytes", test_paths_and_globs_are_bytes);
	g_test_add_func("/options/the-version-is-told", test_the_version_is_told);
	g_test_add_func("/options/help-names-every-option", test_help_names_every_option);

	return g_test_run();
}
