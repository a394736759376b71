/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/settings/setting-text.h"

#include <string.h>

static const char text[] = "[Dedupd]\nNoDataCow=share\nExclude=*.iso\nExclude=*.tmp\nMinSize=64K\n"
			   "[Filesystem /srv]\nNoDataCow=skip\n";

static Config *config_of_text(void)
{
	Config *config = config_new();

	g_assert_true(config_add(config, "a.conf", text, strlen(text), NULL));
	return config;
}

static void test_settings_are_told_with_their_line(void)
{
	g_autoptr(Config) config = config_of_text();
	const char *none[] = { NULL }, *srv[] = { "/srv", NULL };
	const struct {
		const char *const *names;
		const char *key, *said;
	} cases[] = {
		{ none, "NoDataCow", "NoDataCow=share, a.conf:2" },
		{ srv, "NoDataCow", "NoDataCow=skip, a.conf:7" },
		{ srv, "AcrossOwners", "AcrossOwners=yes by default" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const SettingOrigins origins = { config, cases[i].names };
		g_autofree char *said = setting_text(&origins, cases[i].key);

		g_assert_cmpstr(said, ==, cases[i].said);
	}
}

static void test_patterns_are_told_with_their_line(void)
{
	g_autoptr(Config) config = config_of_text();
	const char *none[] = { NULL };
	const SettingOrigins origins = { config, none };
	g_autofree char *said = setting_text_of_pattern(&origins, "*.tmp");
	g_autofree char *given = setting_text_of_pattern(&origins, "*.bak");

	g_assert_cmpstr(said, ==, "Exclude=*.tmp (a.conf:4)");
	g_assert_cmpstr(given, ==, "Exclude=*.bak");
}

static void test_advice_goes_by_what_is_in_force(void)
{
	static const struct {
		const char *advice, *said;
	} cases[] = {
		{ "no copies; NoDataCow=share would take them",
		  "no copies; NoDataCow=share is in force now: the next pass takes it" },
		{ "foreign; AcrossOwners=no would leave it",
		  "foreign; AcrossOwners=no would leave it (AcrossOwners=yes by default)" },
		{ "small; a lower MinSize= would take it",
		  "small; a lower MinSize= would take it (MinSize=64K, a.conf:5)" },
		{ "kept as Zeros= says; Zeros=hole would free it",
		  "kept as Zeros= says; Zeros=hole would free it (Zeros=auto by default)" },
		{ "patterns; see Exclude= here", "patterns; see Exclude= here" },
		{ "a swap file; nothing to do", "a swap file; nothing to do" },
		{ "a = b; c=d", "a = b; c=d" },
	};
	g_autoptr(Config) config = config_of_text();
	const char *none[] = { NULL };
	const SettingOrigins origins = { config, none };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *said = setting_text_of_advice(&origins, cases[i].advice);

		g_assert_cmpstr(said, ==, cases[i].said);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/setting-text/lines", test_settings_are_told_with_their_line);
	g_test_add_func("/setting-text/patterns", test_patterns_are_told_with_their_line);
	g_test_add_func("/setting-text/advice", test_advice_goes_by_what_is_in_force);

	return g_test_run();
}
