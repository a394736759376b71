/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/name-text.h"
#include "common/text/size-text.h"
#include "common/text/state-directory.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

static void test_sizes_have_three_digits(void)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 1300, "1.27 KiB" },
		{ 10 * 1024 + 52, "10.1 KiB" },
		{ 10235, "10 KiB" },
		{ 102348, "99.9 KiB" },
		{ 102399, "100 KiB" },
		{ 1020 * 1024, "1020 KiB" },
		{ 1024 * 1024 - 1, "1 MiB" },
		{ UINT64_C(1) << 40, "1 TiB" },
		{ UINT64_MAX, "16 EiB" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = size_text(cases[i].bytes);

		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

static void test_sizes_are_read_in_powers_of_1024(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "17B", 17 },
		{ "64K", 65536 },
		{ "64k", 65536 },
		{ "64KiB", 65536 },
		{ "1.5G", UINT64_C(3) << 29 },
		{ "1.5 GiB", UINT64_C(3) << 29 },
		{ "0.25m", 262144 },
		{ "15E", UINT64_C(15) << 60 },
		{ "15.99999999999999999999E", UINT64_MAX },
		{ "0.99999999999999999999K", 1023 },
		{ "18446744073709551615", UINT64_MAX },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		uint64_t bytes;

		g_assert_true(size_parse(cases[i].text, &bytes, &error));
		g_assert_no_error(error);
		g_assert_cmpuint(bytes, ==, cases[i].bytes);
	}
}

static void test_what_is_no_size_is_refused_by_name(void)
{
	static const char *const cases[] = {
		"",         "K",   "-1",   " 1",   "+1",    "64KB",
		"1.5",      "1.",  "1.K",  "0x10", "64 iB", "64Ki",
		"1K ",      "16E", "1,5G", "10Q",  "64Kx",  "18446744073709551616",
		"1\033[2J",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *shown = name_text(cases[i], strlen(cases[i]));
		uint64_t bytes = 1;

		g_assert_false(size_parse(cases[i], &bytes, &error));
		g_assert_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE);
		g_assert_nonnull(strstr(error->message, shown));
		g_assert_null(strchr(error->message, '\033'));
		g_assert_cmpuint(bytes, ==, 1);
	}
}

static void test_names_are_fit_for_a_terminal(void)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *text;
	} cases[] = {
		{ "", 0, "" },
		{ "plain name", 10, "plain name" },
		{ "a\nb\tc", 5, "a\\nb\\tc" },
		{ "\033[31mred", 8, "\\e[31mred" },
		{ "back\\slash", 10, "back\\\\slash" },
		{ "gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f" },
		{ "\xff\xfe", 2, "\\xff\\xfe" },
		{ "cut\xc3", 4, "cut\\xc3" },
		{ "\0nul", 4, "\\x00nul" },
		{ "\x7f\r", 2, "\\x7f\\x0d" },
		{ "\xc2\x9b", 2, "\\xc2\\x9b" },               /* CSI in one character */
		{ "\xe2\x80\xae", 3, "\\xe2\\x80\\xae" },      /* right-to-left override */
		{ "\xe2\x80\xa8", 3, "\\xe2\\x80\\xa8" },      /* line separator */
		{ "\xed\xa0\x80", 3, "\\xed\\xa0\\x80" },      /* a surrogate */
		{ "\xf0\x9f\x90\xa7", 4, "\xf0\x9f\x90\xa7" }, /* a penguin */
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = name_text(cases[i].bytes, cases[i].length);

		g_assert_cmpstr(text, ==, cases[i].text);

		size_t n_bytes;
		g_autofree char *bytes = name_text_bytes(text, &n_bytes);
		g_assert_cmpmem(bytes, n_bytes, cases[i].bytes, cases[i].length);
	}
}

static void test_what_is_no_escaped_name_has_no_bytes(void)
{
	static const char *const cases[] = { "\\", "a\\", "\\q", "\\x", "\\x4", "\\xg0" };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		size_t n_bytes;

		g_assert_null(name_text_bytes(cases[i], &n_bytes));
	}
}

static void test_stores_of_root_lie_under_var(void)
{
	g_autofree char *directory = state_directory_default();

	g_assert_true(g_path_is_absolute(directory));
	g_assert_true(g_str_has_suffix(directory, "/dedupd"));
	if (geteuid() == 0)
		g_assert_true(g_str_has_suffix(directory, "/lib/dedupd"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/text/sizes-have-three-digits", test_sizes_have_three_digits);
	g_test_add_func("/text/sizes-are-read-in-powers-of-1024",
			test_sizes_are_read_in_powers_of_1024);
	g_test_add_func("/text/what-is-no-size-is-refused-by-name",
			test_what_is_no_size_is_refused_by_name);
	g_test_add_func("/text/names-are-fit-for-a-terminal", test_names_are_fit_for_a_terminal);
	g_test_add_func("/text/what-is-no-escaped-name-has-no-bytes",
			test_what_is_no_escaped_name_has_no_bytes);
	g_test_add_func("/text/stores-of-root-lie-under-var", test_stores_of_root_lie_under_var);

	return g_test_run();
}
