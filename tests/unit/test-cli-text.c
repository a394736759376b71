/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/point-in-time.h"
#include "cli/terminal/message.h"
#include "cli/terminal/time-text.h"
#include "common/text/word-list.h"

#include <glib.h>
#include <stdlib.h>

#define SECOND_USEC INT64_C(1000000)

static void test_durations_have_two_units_at_most(void)
{
	static const struct {
		int64_t usec;
		const char *text;
		const char *seconds;
	} cases[] = {
		{ -5, "0.00 s", "0.000" },
		{ 0, "0.00 s", "0.000" },
		{ 1250 * 1000, "1.25 s", "1.250" },
		{ 9999999, "9.99 s", "9.999" },
		{ 12 * SECOND_USEC + 560000, "12.5 s", "12.560" },
		{ 252 * SECOND_USEC, "4 min 12 s", "252.000" },
		{ 11100 * SECOND_USEC, "3 h 05 min", "11100.000" },
		{ 183600 * SECOND_USEC, "2 d 03 h", "183600.000" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = duration_text(cases[i].usec);
		g_autofree char *seconds = duration_seconds(cases[i].usec);

		g_assert_cmpstr(text, ==, cases[i].text);
		g_assert_cmpstr(seconds, ==, cases[i].seconds);
	}
}

static void test_times_are_local_for_people_and_utc_for_programs(void)
{
	g_autofree char *local = time_text_local(1782875179 * SECOND_USEC);
	g_autofree char *utc = time_text_utc(1782875179 * SECOND_USEC);
	g_autofree char *never = time_text_utc(INT64_MAX);

	g_assert_cmpstr(local, ==, "2026-07-01 05:06:19");
	g_assert_cmpstr(utc, ==, "2026-07-01T03:06:19Z");
	g_assert_null(never);
}

static void test_points_in_time_are_typed_in_several_ways(void)
{
	/* 2026-07-01 05:06:19 in Berlin. */
	const int64_t now_usec = 1782875179 * SECOND_USEC;
	static const struct {
		const char *text;
		int64_t seconds_ago;
	} cases[] = {
		{ "2026-07-01 05:06:19", 0 },
		{ "2026-07-01T05:06:18", 1 },
		{ "2026-07-01 05:06", 19 },
		{ "2026-07-01", 5 * 3600 + 6 * 60 + 19 },
		{ "today", 5 * 3600 + 6 * 60 + 19 },
		{ "yesterday", 29 * 3600 + 6 * 60 + 19 },
		{ "90min", 5400 },
		{ "1d 1h", 25 * 3600 },
		{ "2026-07-01T03:06:19Z", 0 },
	};
	static const char *const wrong[] = { "",  "now",    "2026-07-32", "2026-07-01 25:00",
					     "5", "100000w" };
	int64_t usec;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_assert_true(point_in_time_parse(cases[i].text, now_usec, &usec, NULL));
		g_assert_cmpint((now_usec - usec) / SECOND_USEC, ==, cases[i].seconds_ago);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(point_in_time_parse(wrong[i], now_usec, &usec, &error));
		g_assert_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE);
	}
}

static void test_nearest_word_forgives_a_letter_in_three(void)
{
	static const char *const words[] = { "status", "history" };
	static const struct {
		const char *typed;
		const char *nearest;
	} cases[] = {
		{ "status", "status" },
		{ "st", "status" },
		{ "statsu", "status" },
		{ "tsatus", "status" },
		{ "histry", "history" },
		{ "hisstory", "history" },
		{ "mystory", "history" },
		{ "", NULL },
		{ "x", NULL },
		{ "pause", NULL },
		{ "statistics-of-all-filesystems-here", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpstr(nearest_word(cases[i].typed, words, G_N_ELEMENTS(words)), ==,
				cases[i].nearest);
}

static void test_words_that_are_too_long_are_near_to_what_begins_them(void)
{
	static const char *const words[] = { "/a/mount/point/with/a/long/name/in/the/end", "/srv" };

	g_assert_cmpstr(nearest_word("/svr", words, G_N_ELEMENTS(words)), ==, "/srv");
	g_assert_cmpstr(nearest_word("/a/mount", words, G_N_ELEMENTS(words)), ==, words[0]);
	g_assert_null(nearest_word("/b/mount/point/with/a/long/name", words, G_N_ELEMENTS(words)));
}

static void test_what_was_escaped_before_stays(void)
{
	static const struct {
		const char *text;
		const char *shown;
	} cases[] = {
		{ NULL, "" },
		{ "/srv/a\\nb\\\\c", "/srv/a\\nb\\\\c" },
		{ "/srv/gr\xc3\xbc\xc3\x9f", "/srv/gr\xc3\xbc\xc3\x9f" },
		{ "a\033[2J\\", "a\\e[2J\\\\" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *shown = message_text(cases[i].text);

		g_assert_cmpstr(shown, ==, cases[i].shown);
	}
}

int main(int argc, char **argv)
{
	/* Two hours ahead in summer; needs no time zone files. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/cli-text/durations-have-two-units-at-most",
			test_durations_have_two_units_at_most);
	g_test_add_func("/point-in-time/typed", test_points_in_time_are_typed_in_several_ways);
	g_test_add_func("/cli-text/times-are-local-for-people-and-utc-for-programs",
			test_times_are_local_for_people_and_utc_for_programs);
	g_test_add_func("/cli-text/nearest-word-forgives-a-letter-in-three",
			test_nearest_word_forgives_a_letter_in_three);
	g_test_add_func("/cli-text/words-that-are-too-long-are-near-to-what-begins-them",
			test_words_that_are_too_long_are_near_to_what_begins_them);
	g_test_add_func("/cli-text/what-was-escaped-before-stays",
			test_what_was_escaped_before_stays);

	return g_test_run();
}
