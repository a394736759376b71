/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/pin-cause.h"

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PinLedger, pin_ledger_clear)

static void test_causes_have_the_words_of_the_report(void)
{
	/* In the order of the numbers in stores: add new ones at the end. */
	static const char *const names[] = {
		"none",          "uncovered",     "deleted-file",      "differs",
		"needs-reading", "unfit-sources", "too-costly",        "read-only-snapshot",
		"immutable",     "reserved",      "deleted-subvolume", "pieces",
		"metadata",      "keep-zeros",    "snapshots",         "copy-space",
	};

	g_assert_cmpuint(G_N_ELEMENTS(names), ==, PIN_CAUSES);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		g_assert_cmpstr(pin_cause_name(i), ==, names[i]);
}

static void test_a_cause_of_a_newer_store_is_unknown(void)
{
	g_assert_cmpstr(pin_cause_name(PIN_CAUSES), ==, "unknown");
	g_assert_cmpstr(pin_cause_name(1000000), ==, "unknown");
}

static void test_each_cause_counts_for_itself(void)
{
	g_auto(PinLedger) ledger = { 0 };

	pin_ledger_add(&ledger, PIN_UNCOVERED, 100, 60, 1, "/a");
	pin_ledger_add(&ledger, PIN_UNCOVERED, 20, 5, 2, "/b\n");
	pin_ledger_add(&ledger, PIN_TOO_COSTLY, 3, 0, 99, NULL);

	g_assert_cmpuint(ledger.entries[PIN_UNCOVERED].count, ==, 2);
	g_assert_cmpuint(ledger.entries[PIN_UNCOVERED].bytes, ==, 120);
	g_assert_cmpuint(ledger.entries[PIN_UNCOVERED].uncovered_bytes, ==, 65);
	g_assert_cmpuint(ledger.entries[PIN_UNCOVERED].n_examples, ==, 2);
	g_assert_cmpstr(ledger.entries[PIN_UNCOVERED].examples[1].path, ==, "/b\\n");
	g_assert_cmpuint(ledger.entries[PIN_UNCOVERED].examples[1].uncovered_bytes, ==, 5);
	g_assert_cmpuint(ledger.entries[PIN_UNCOVERED].examples[1].places, ==, 2);
	g_assert_cmpuint(ledger.entries[PIN_TOO_COSTLY].count, ==, 1);
	g_assert_cmpuint(ledger.entries[PIN_TOO_COSTLY].n_examples, ==, 0);
	g_assert_cmpuint(ledger.entries[PIN_IMMUTABLE].count, ==, 0);
}

static void test_what_is_not_pinned_is_not_counted(void)
{
	g_auto(PinLedger) ledger = { 0 };

	pin_ledger_add(&ledger, PIN_NONE, 100, 60, 1, "/a");
	g_assert_cmpuint(ledger.entries[PIN_NONE].count, ==, 0);
	g_assert_false(pin_ledger_wants_example(&ledger, PIN_NONE));
}

static void test_the_first_five_examples_are_kept(void)
{
	g_auto(PinLedger) ledger = { 0 };

	for (unsigned i = 0; i < 9; i++) {
		g_autofree char *path = g_strdup_printf("/file-%u", i);

		g_assert_true(pin_ledger_wants_example(&ledger, PIN_RESERVED) == (i < 5));
		pin_ledger_add(&ledger, PIN_RESERVED, 1, 0, 1, path);
	}
	g_assert_cmpuint(ledger.entries[PIN_RESERVED].count, ==, 9);
	g_assert_cmpuint(ledger.entries[PIN_RESERVED].n_examples, ==, 5);
	g_assert_cmpstr(ledger.entries[PIN_RESERVED].examples[4].path, ==, "/file-4");
	pin_ledger_clear(&ledger);
	g_assert_cmpuint(ledger.entries[PIN_RESERVED].count, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/pin-cause/causes-have-the-words-of-the-report",
			test_causes_have_the_words_of_the_report);
	g_test_add_func("/pin-cause/a-cause-of-a-newer-store-is-unknown",
			test_a_cause_of_a_newer_store_is_unknown);
	g_test_add_func("/pin-cause/each-cause-counts-for-itself",
			test_each_cause_counts_for_itself);
	g_test_add_func("/pin-cause/what-is-not-pinned-is-not-counted",
			test_what_is_not_pinned_is_not_counted);
	g_test_add_func("/pin-cause/the-first-five-examples-are-kept",
			test_the_first_five_examples_are_kept);

	return g_test_run();
}
