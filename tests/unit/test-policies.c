/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/policies.h"

static void assert_text(const Settings *settings, const char *expected)
{
	g_autofree char *text = policies_text(settings);

	g_assert_cmpstr(text, ==, expected);
}

static void test_with_defaults_the_text_is_that_of_zeros_alone(void)
{
	/* The text of stores made before there were other policies. */
	assert_text(&(Settings){ .min_run_bytes = SETTINGS_MIN_RUN_BYTES, .zeros = ZEROS_AUTO },
		    "auto");
	assert_text(&(Settings){ .min_run_bytes = SETTINGS_MIN_RUN_BYTES, .zeros = ZEROS_KEEP },
		    "keep");
	assert_text(&(Settings){ .min_run_bytes = SETTINGS_MIN_RUN_BYTES, .zeros = ZEROS_SHARE },
		    "share");
}

static void test_every_policy_makes_another_text(void)
{
	assert_text(&(Settings){ .min_run_bytes = SETTINGS_MIN_RUN_BYTES,
				 .read_only_snapshots = SNAPSHOTS_SOURCE },
		    "auto read-only-snapshots=source");
	assert_text(&(Settings){ .min_run_bytes = SETTINGS_MIN_RUN_BYTES,
				 .zeros = ZEROS_HOLE,
				 .read_only_snapshots = SNAPSHOTS_SKIP },
		    "hole read-only-snapshots=skip");
	assert_text(&(Settings){ .min_run_bytes = SETTINGS_MIN_RUN_BYTES,
				 .read_only_snapshots = SNAPSHOTS_SKIP,
				 .no_data_cow = NO_COW_SHARE },
		    "auto read-only-snapshots=skip no-data-cow=share");
	assert_text(&(Settings){ .min_run_bytes = SETTINGS_MIN_RUN_BYTES,
				 .compressed = COMPRESSED_READ },
		    "auto compressed=read");
	assert_text(
		&(Settings){ .min_run_bytes = SETTINGS_MIN_RUN_BYTES, .rewrite = REWRITE_NEVER },
		"auto rewrite=never");
	assert_text(&(Settings){ .min_run_bytes = 4096 }, "auto min-run=4096");
	assert_text(&(Settings){ .min_run_bytes = SETTINGS_MIN_RUN_BYTES,
				 .across_owners = WITHIN_OWNERS },
		    "auto across-owners=no");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/policies/with-defaults-the-text-is-that-of-zeros-alone",
			test_with_defaults_the_text_is_that_of_zeros_alone);
	g_test_add_func("/policies/every-policy-makes-another-text",
			test_every_policy_makes_another_text);

	return g_test_run();
}
