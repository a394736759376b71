/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config-value.h"

#include "common/config/time-window.h"
#include "common/text/duration-text.h"
#include "common/text/name-text.h"
#include "common/text/size-text.h"
#include "common/text/usage-error.h"
#include "common/text/word-list.h"

#include <string.h>

char *config_value_form(const ConfigKey *key)
{
	static const char *const kinds[] = {
		[CONFIG_BYTES] = "a size",
		[CONFIG_DURATION] = "a duration",
		[CONFIG_PATH] = "an absolute path",
		[CONFIG_WINDOW] = "a time of the day, as 22:00-06:00, with weekdays, as Mon-Fri",
		[CONFIG_EXCLUDE] = "a pattern as in gitignore",
		[CONFIG_INCLUDE] = "a pattern as in gitignore",
	};
	g_autofree char *number = g_strdup_printf(
		"a number from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, key->least, key->most);

	if (key->words)
		return word_list_text(key->words);
	if (key->form)
		return g_strdup(key->form);
	return g_strconcat(key->word ? key->word : "", key->word ? " or " : "",
			   key->type == CONFIG_NUMBER ? number : kinds[key->type], NULL);
}

/* Refuse @text, which is @what. */
static bool refuse(const ConfigKey *key, const char *text, const char *what, GError **error)
{
	g_autofree char *form = config_value_form(key);
	g_autofree char *shown = name_text(text, strlen(text));

	return usage_error_set(error, "\"%s\" is %s: it may be %s", shown, what, form);
}

/* Convert systemd's other words for yes and no. */
static const char *plain_word(const char *text)
{
	static const char *const yes[] = { "true", "on", "1" };
	static const char *const no[] = { "false", "off", "0" };

	for (size_t i = 0; i < G_N_ELEMENTS(yes); i++) {
		if (strcmp(text, yes[i]) == 0)
			return "yes";
		if (strcmp(text, no[i]) == 0)
			return "no";
	}

	return text;
}

static bool set_choice(const ConfigKey *key, const char *text, unsigned *ret, GError **error)
{
	g_autofree char *form = config_value_form(key);
	g_autofree char *shown = name_text(text, strlen(text));
	const char *const *words = key->words;
	const char *near;
	unsigned i = 0;

	for (; words[i]; i++) {
		if (strcmp(text, words[i]) != 0 && strcmp(plain_word(text), words[i]) != 0)
			continue;
		*ret = i;
		return true;
	}

	near = nearest_word(text, words, i);
	return near ? usage_error_set(error, "\"%s\" is unknown, did you mean %s?  It may be %s",
				      shown, near, form)
		    : usage_error_set(error, "\"%s\" is unknown: it may be %s", shown, form);
}

static bool set_bytes(const ConfigKey *key, const char *text, uint64_t *ret, GError **error)
{
	uint64_t bytes;

	if (!size_parse(text, &bytes, error))
		return false;
	if (bytes < key->least)
		return refuse(key, text, "too small", error);

	*ret = bytes;
	return true;
}

static bool set_number(const ConfigKey *key, const char *text, uint32_t *ret, GError **error)
{
	guint64 number;

	if (!g_ascii_string_to_unsigned(text, 10, key->least, key->most, &number, NULL))
		return refuse(key, text, "wrong", error);

	*ret = (uint32_t)number;
	return true;
}

static bool set_path(const ConfigKey *key, const char *text, char **ret, GError **error)
{
	if (*text != '/')
		return refuse(key, text, "wrong", error);

	g_free(*ret);
	*ret = g_strdup(text);
	return true;
}

static bool add_window(const char *text, GArray **windows, GError **error)
{
	TimeWindow window;

	if (*text == '\0') {
		g_clear_pointer(windows, g_array_unref);
		return true;
	}
	if (!time_window_parse(text, &window, error))
		return false;

	if (!*windows)
		*windows = g_array_new(false, false, sizeof(TimeWindow));
	g_array_append_val(*windows, window);
	return true;
}

/* Refuse separators and comments of other programs: such a pattern would match nothing. */
static bool check_pattern(const char *text, GError **error)
{
	const char *sharp = strpbrk(text, "#;");

	if (strchr(text, ','))
		return usage_error_set(
			error, "one pattern in a line: a comma is part of a name only as [,]");
	for (; sharp; sharp = strpbrk(sharp + 1, "#;"))
		if (sharp > text && g_ascii_isspace(sharp[-1]))
			return usage_error_set(error,
					       "a comment stands in a line of its own: behind a "
					       "blank, %c is part of a name only as [%c]",
					       *sharp, *sharp);

	return true;
}

static bool add_pattern(const char *sign, const char *text, char ***patterns, GError **error)
{
	guint n = *patterns ? g_strv_length(*patterns) : 0;

	if (*text == '\0') {
		g_clear_pointer(patterns, g_strfreev);
		return true;
	}
	if (!check_pattern(text, error))
		return false;

	*patterns = g_renew(char *, *patterns, n + 2);
	(*patterns)[n] = g_strconcat(sign, text, NULL);
	(*patterns)[n + 1] = NULL;
	return true;
}

/* Set the value that the key's word stands for. */
static void set_word(const ConfigKey *key, void *at)
{
	uint32_t number = (uint32_t)key->word_value;

	if (key->type == CONFIG_PATH)
		g_clear_pointer((char **)at, g_free);
	else if (key->type == CONFIG_NUMBER)
		memcpy(at, &number, sizeof(number));
	else
		memcpy(at, &key->word_value, sizeof(key->word_value));
}

bool config_value_set(const ConfigKey *key, const char *text, void *values, GError **error)
{
	void *at = (char *)values + key->offset;

	if (key->word && strcmp(text, key->word) == 0) {
		set_word(key, at);
		return true;
	}
	if (*text == '\0' && !config_key_is_list(key)) {
		g_autofree char *form = config_value_form(key);

		return usage_error_set(error, "a value is missing: it may be %s", form);
	}

	switch (key->type) {
	case CONFIG_CHOICE:
		return set_choice(key, text, at, error);
	case CONFIG_BYTES:
		return set_bytes(key, text, at, error);
	case CONFIG_NUMBER:
		return set_number(key, text, at, error);
	case CONFIG_DURATION:
		return duration_parse(text, at, error);
	case CONFIG_PATH:
		return set_path(key, text, at, error);
	case CONFIG_WINDOW:
		return add_window(text, at, error);
	case CONFIG_EXCLUDE:
		return add_pattern("", text, at, error);
	case CONFIG_INCLUDE:
		if (*text == '!')
			return usage_error_set(error, "a pattern of Include= begins with no !");
		return add_pattern("!", text, at, error);
	}

	return false;
}

void config_value_set_standard(const ConfigKey *key, void *values)
{
	g_autoptr(GError) error = NULL;

	if (!config_value_set(key, key->standard, values, &error))
		g_error("%s=%s: %s", key->name, key->standard, error->message);
}
