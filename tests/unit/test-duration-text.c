/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/duration-text.h"

#include <string.h>

static void test_durations_are_read_with_their_units(void)
{
	static const struct {
		const char *text;
		uint64_t seconds;
	} cases[] = {
		{ "0s", 0 },
		{ "90s", 90 },
		{ "30min", 1800 },
		{ "4h", 14400 },
		{ "2d", 172800 },
		{ "1w", 604800 },
		{ "1h 30min", 5400 },
		{ "1h30min", 5400 },
		{ "1 H 5 S", 3605 },
		{ "5MIN", 300 },
		{ "106751991d", 9223372022400 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		uint64_t usec;

		if (!duration_parse(cases[i].text, &usec, &error))
			g_error("%s", error->message);
		g_assert_cmpuint(usec, ==, cases[i].seconds * G_USEC_PER_SEC);
	}
}

static void test_what_is_no_duration_is_refused_by_name(void)
{
	static const char *const texts[] = {
		"",
		"5",
		"s",
		"-1s",
		"+1s",
		" 1s",
		"1m",
		"1hour",
		"1.5h",
		"1h  5s",
		"1h,5s",
		"1h x",
		"99999999999999999999s",
		"9999999999999w",
		"106751991d 106751991d 106751991d",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *quoted = g_strdup_printf("\"%s\"", texts[i]);
		g_autoptr(GError) error = NULL;
		uint64_t usec;

		if (duration_parse(texts[i], &usec, &error))
			g_error("\"%s\" was taken", texts[i]);
		g_assert_nonnull(strstr(error->message, quoted));
		g_assert_nonnull(strstr(error->message, "30min"));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/duration-text/durations-are-read-with-their-units",
			test_durations_are_read_with_their_units);
	g_test_add_func("/duration-text/what-is-no-duration-is-refused-by-name",
			test_what_is_no_duration_is_refused_by_name);

	return g_test_run();
}
