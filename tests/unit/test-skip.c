/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/skip.h"

#include <string.h>

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SkipLedger, skip_ledger_clear)

static void test_reasons_have_the_words_of_the_report(void)
{
	/* In the order of the numbers in stores: add new ones at the end. */
	static const char *const names[] = {
		"special",
		"small",
		"excluded",
		"own-state",
		"other-mount",
		"too-deep",
		"denied",
		"leased",
		"unreadable",
		"swap-file",
		"boot",
		"immutable",
		"nodatacow",
		"keep-zeros",
		"inline",
		"busy",
		"changed",
		"differs",
		"no-space",
		"read-only",
		"realtime",
		"unsupported",
		"unknown",
		"no-temporary-file",
		"no-checksums",
		"pinned",
		"doubtful",
		"read-only-snapshot",
		"outside",
		"needs-reading",
		"pieces",
		"metadata",
		"no-metadata-space",
		"other-owner",
		"young",
		"changes-often",
		"store-limit",
		"state-space",
		"large-offset",
		"many-names",
		"clones",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		g_assert_cmpstr(skip_reason_name(i), ==, names[i]);
	for (size_t i = 0; i < SKIP_REASONS; i++)
		for (size_t j = 0; j < i; j++)
			g_assert_cmpstr(skip_reason_name(i), !=, skip_reason_name(j));
}

static void test_a_reason_of_a_newer_store_is_unknown(void)
{
	g_assert_cmpstr(skip_reason_name(SKIP_REASONS), ==, "unknown");
	g_assert_cmpstr(skip_reason_name(1000000), ==, "unknown");
}

static void test_each_reason_counts_for_itself(void)
{
	g_auto(SkipLedger) ledger = { 0 };

	skip_ledger_add(&ledger, SKIP_LEASED, 100, "/a");
	skip_ledger_add(&ledger, SKIP_LEASED, 20, "/b");
	skip_ledger_add(&ledger, SKIP_BUSY, 3, NULL);

	g_assert_cmpuint(ledger.entries[SKIP_LEASED].count, ==, 2);
	g_assert_cmpuint(ledger.entries[SKIP_LEASED].bytes, ==, 120);
	g_assert_cmpstr(ledger.entries[SKIP_LEASED].examples[0], ==, "/a");
	g_assert_cmpstr(ledger.entries[SKIP_LEASED].examples[1], ==, "/b");
	g_assert_null(ledger.entries[SKIP_LEASED].examples[2]);
	g_assert_cmpuint(ledger.entries[SKIP_BUSY].count, ==, 1);
	g_assert_cmpuint(ledger.entries[SKIP_BUSY].bytes, ==, 3);
	g_assert_null(ledger.entries[SKIP_BUSY].examples[0]);
	g_assert_cmpuint(ledger.entries[SKIP_SPECIAL].count, ==, 0);
	g_assert_cmpuint(ledger.entries[SKIP_NO_TEMPORARY_FILE].count, ==, 0);
}

static void test_the_first_five_examples_are_kept(void)
{
	g_auto(SkipLedger) ledger = { 0 };

	for (int i = 0; i < 9; i++) {
		g_autofree char *path = g_strdup_printf("/file-%d", i);

		g_assert_cmpint(skip_ledger_wants_example(&ledger, SKIP_DENIED), ==, i < 5);
		skip_ledger_add(&ledger, SKIP_DENIED, 1, path);
	}

	g_assert_cmpuint(ledger.entries[SKIP_DENIED].count, ==, 9);
	g_assert_cmpuint(g_strv_length(ledger.entries[SKIP_DENIED].examples), ==, 5);
	g_assert_cmpstr(ledger.entries[SKIP_DENIED].examples[4], ==, "/file-4");
}

static void test_examples_are_escaped(void)
{
	g_auto(SkipLedger) ledger = { 0 };

	skip_ledger_add(&ledger, SKIP_DENIED, 1, "/a\nb\033[2J\xff\\");
	g_assert_cmpstr(ledger.entries[SKIP_DENIED].examples[0], ==, "/a\\nb\\e[2J\\xff\\\\");
}

static void test_a_cleared_ledger_is_empty(void)
{
	SkipLedger ledger = { 0 };
	SkipLedger empty = { 0 };

	skip_ledger_add(&ledger, SKIP_SPECIAL, 1, "/a");
	skip_ledger_add(&ledger, SKIP_NO_TEMPORARY_FILE, 1, "/b");
	skip_ledger_clear(&ledger);
	g_assert_cmpmem(&ledger, sizeof(ledger), &empty, sizeof(empty));
	skip_ledger_clear(&ledger);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/skip/reasons-have-the-words-of-the-report",
			test_reasons_have_the_words_of_the_report);
	g_test_add_func("/skip/a-reason-of-a-newer-store-is-unknown",
			test_a_reason_of_a_newer_store_is_unknown);
	g_test_add_func("/skip/each-reason-counts-for-itself", test_each_reason_counts_for_itself);
	g_test_add_func("/skip/the-first-five-examples-are-kept",
			test_the_first_five_examples_are_kept);
	g_test_add_func("/skip/examples-are-escaped", test_examples_are_escaped);
	g_test_add_func("/skip/a-cleared-ledger-is-empty", test_a_cleared_ledger_is_empty);

	return g_test_run();
}
