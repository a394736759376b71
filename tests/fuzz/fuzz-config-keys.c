/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config.h"
#include "common/config/time-window.h"
#include "common/files/filter.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* A file and drop-ins, of real sections and keys, with values that are right but for what is damaged. */
#define FILES_MAX 3
#define LINES_MAX 8

#define DISK "sda"

/* Names of files are that long at most. */
#define NAME_BYTES 255

/* A time in the year 2023. */
#define NOW ((time_t)1700000000)

const char *const fuzz_seeds[] = { NULL };

/* Right values of each type, and values that are near to these. */
static const char *const right[][6] = {
	[CONFIG_BYTES] = { "8M", "65536K", "64M", "1.5 GiB", "1T", "16m" },
	[CONFIG_NUMBER] = { "2", "3", "4", "8", "16", "12" },
	[CONFIG_DURATION] = { "1s", "1h 30min", "2w", "90s", "1d", "5min" },
	[CONFIG_PATH] = { "/", "/var/lib/dedupd", "/a b", "/\xc3\xbc", "/a/../b", "/x" },
	[CONFIG_WINDOW] = { "22:00-06:00", "9:00-17:30 Mon-Fri", "Sat,Sun", "00:00-24:00 Sun-Mon",
			    "0:00-0:01", "23:59-24:00" },
	[CONFIG_EXCLUDE] = { "*.tmp", "/a/**/b", "**/x[a-z]?", "*a*a*a*a*a*a*a*b", "a/", "\\*" },
	[CONFIG_INCLUDE] = { "keep", "*.keep", "/a/b", "**/c", "[!a]", "x" },
};

static const char *const wrong[] = {
	"",
	"-1",
	"0",
	"none",
	"auto",
	"99999999999999999999",
	"1.5.5G",
	"1e400",
	"\xff",
	"25:00-06:00",
	"22:00-22:00 Xyz",
	"Fri-",
	"10000000000w",
	"relative",
	"[",
	"**************************************a",
	"!",
	"\\",
};

static const char *any_value(Choices *choices, const ConfigKey *key)
{
	size_t n_words = 0;

	if (choices_damage(choices))
		return wrong[choices_below(choices, G_N_ELEMENTS(wrong))];
	if (key->type != CONFIG_CHOICE)
		return right[key->type][choices_below(choices, G_N_ELEMENTS(right[0]))];
	while (key->words[n_words])
		n_words++;
	return key->words[choices_below(choices, n_words)];
}

static void add_section(Choices *choices, GString *text, ConfigSection *ret)
{
	static const ConfigSection sections[] = { CONFIG_DEDUPD, CONFIG_FILESYSTEM, CONFIG_DISK };
	static const char *const names[] = { "", " /srv", " sda" };
	size_t which = (size_t)choices_below(choices, G_N_ELEMENTS(sections));

	*ret = sections[which];
	g_string_append_printf(text, "[%s%s]\n", config_section_name(*ret), names[which]);
}

static void add_line(Choices *choices, GString *text, ConfigSection section)
{
	size_t n;
	const ConfigKey *keys = config_keys(&n);
	const ConfigKey *key = &keys[choices_below(choices, n)];

	if (!(key->sections & section) && !choices_damage(choices))
		return;
	g_string_append_printf(text, "%s%s%s\n", key->name, choices_damage(choices) ? "" : "=",
			       any_value(choices, key));
}

static void add_file(Choices *choices, Config *config, unsigned number, bool is_valid)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *name = g_strdup_printf("file-%u", number);
	g_autoptr(GError) error = NULL;
	ConfigSection section;
	bool added;

	for (uint64_t n = 1 + choices_below(choices, FILES_MAX); n > 0; n--) {
		add_section(choices, text, &section);
		for (uint64_t lines = choices_below(choices, LINES_MAX); lines > 0; lines--)
			add_line(choices, text, section);
	}
	choices_bytes(choices, text->str, text->len);
	added = config_add(config, name, text->str, text->len, &error);
	g_assert_true(added == !error);
	if (!error)
		return;
	g_assert_true(g_str_has_prefix(error->message, name));
	g_assert_true(g_utf8_validate(error->message, -1, NULL));
	if (is_valid)
		g_error("what is right is refused: %s", error->message);
}

/* Every value is one that its key can have, whatever was said. */
static void check_key(const ConfigKey *key, const void *values)
{
	const uint8_t *value = (const uint8_t *)values + key->offset;
	uint32_t narrow;
	uint64_t wide;
	size_t n = 0;

	memcpy(&narrow, value, sizeof(narrow));
	switch (key->type) {
	case CONFIG_CHOICE:
		while (key->words[n])
			n++;
		g_assert_cmpuint(narrow, <, n);
		break;
	case CONFIG_NUMBER:
		g_assert_true((narrow >= key->least && narrow <= key->most) ||
			      (key->word && narrow == key->word_value));
		break;
	case CONFIG_BYTES:
		memcpy(&wide, value, sizeof(wide));
		g_assert_true(wide >= key->least || (key->word && wide == key->word_value));
		break;
	default:
		break;
	}
}

static void check_windows(const GArray *windows)
{
	time_t now = NOW;

	/* A year of changes, each later than the one before. */
	for (unsigned i = 0; i < 20; i++) {
		bool is_open = time_windows_are_open(windows, now);
		time_t next;

		if (!time_windows_next_change(windows, now, &next))
			return;
		g_assert_true(next > now);
		g_assert_true(time_windows_are_open(windows, next - 1) == is_open);
		now = next;
	}
}

/* Names that make patterns go back as far as they can. */
static void check_filter(const Settings *settings)
{
	char name[NAME_BYTES + 1];
	g_autoptr(Filter) filter = filter_new(settings->excludes, 0);

	memset(name, 'a', NAME_BYTES);
	name[NAME_BYTES] = '\0';
	if (settings->patterns)
		filter_set_patterns(filter, settings->patterns, "/srv");
	filter_excludes(filter, "/srv", name, name);
	filter_excludes(filter, "/srv", "a/b\xff/c.tmp", "c.tmp");
}

static void check(const Config *config)
{
	static const char *const names[] = { "/srv", DISK, NULL };
	g_auto(Settings) settings = { 0 };
	DiskSettings disk;
	size_t n;
	const ConfigKey *keys = config_keys(&n);

	config_settings(config, names, &settings);
	config_disk_settings(config, names, &disk);
	for (size_t i = 0; i < n; i++)
		check_key(&keys[i], config_key_is_of_disk(&keys[i]) ? (const void *)&disk
								    : (const void *)&settings);
	if (settings.windows)
		check_windows(settings.windows);
	check_filter(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Choices choices = choices_begin(data, size);
	bool is_valid = choices.n_damages == 0;
	g_autoptr(Config) config = config_new();
	unsigned n = 1 + (unsigned)choices_below(&choices, FILES_MAX);

	for (unsigned i = 0; i < n; i++)
		add_file(&choices, config, i, is_valid);
	check(config);
	return 0;
}
