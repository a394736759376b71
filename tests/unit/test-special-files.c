/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/special-files.h"

#include <glib.h>
#include <string.h>

#define GRUB "# GRUB Environment Block\n"

/* @text ends at byte @end of @length bytes, in an allocation of that size. */
static bool match(const char *text, size_t end, size_t length, SkipReason *ret_reason)
{
	g_autofree uint8_t *head = g_malloc(length);

	memset(head, 'x', length);
	memcpy(head + end - strlen(text), text, strlen(text));
	return special_files_match(head, length, ret_reason);
}

static void test_swap_files_of_any_page_size_are_known(void)
{
	static const char *const signatures[] = { "SWAPSPACE2", "SWAP-SPACE" };

	for (size_t i = 0; i < G_N_ELEMENTS(signatures); i++) {
		for (size_t page = 4096; page <= 65536; page *= 2) {
			SkipReason reason = SKIP_REASONS;

			g_assert_true(match(signatures[i], page, page, &reason));
			g_assert_cmpint(reason, ==, SKIP_SWAP_FILE);
			g_assert_true(match(signatures[i], page, 1 << 20, &reason));
			/* The end of the page was not read. */
			g_assert_false(match(signatures[i], page - 1, page - 1, &reason));
		}
	}
}

static void test_a_signature_elsewhere_makes_no_swap_file(void)
{
	static const size_t ends[] = { 10, 4095, 4097, 12288, 131072 };

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
		SkipReason reason = SKIP_REASONS;

		g_assert_false(match("SWAPSPACE2", ends[i], 1 << 20, &reason));
		g_assert_cmpint(reason, ==, SKIP_REASONS);
	}
}

static void test_the_environment_of_grub_is_known(void)
{
	SkipReason reason = SKIP_REASONS;

	g_assert_true(match(GRUB, strlen(GRUB), 1024, &reason));
	g_assert_cmpint(reason, ==, SKIP_BOOT);
	g_assert_true(match(GRUB, strlen(GRUB), strlen(GRUB), &reason));
	g_assert_false(match(GRUB, strlen(GRUB) + 1, 1024, &reason));
	g_assert_false(match("# GRUB Environment Block", 24, 24, &reason));
	g_assert_false(match("# GRUB Environment Block", 24, 1024, &reason));
}

static void test_short_and_empty_files_are_nothing_special(void)
{
	uint8_t head[1] = { '#' };
	SkipReason reason;

	g_assert_false(special_files_match(head, 0, &reason));
	g_assert_false(special_files_match(head, 1, &reason));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/special-files/swap-files-of-any-page-size-are-known",
			test_swap_files_of_any_page_size_are_known);
	g_test_add_func("/special-files/a-signature-elsewhere-makes-no-swap-file",
			test_a_signature_elsewhere_makes_no_swap_file);
	g_test_add_func("/special-files/the-environment-of-grub-is-known",
			test_the_environment_of_grub_is_known);
	g_test_add_func("/special-files/short-and-empty-files-are-nothing-special",
			test_short_and_empty_files_are_nothing_special);

	return g_test_run();
}
