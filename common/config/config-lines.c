/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config-lines.h"

#include <string.h>

ConfigLines config_lines_of(const char *text, size_t length)
{
	return (ConfigLines){ .at = text, .length = length };
}

void config_line_clear(ConfigLine *line)
{
	g_clear_pointer(&line->name, g_free);
	g_clear_pointer(&line->text, g_free);
}

static void set(ConfigLine *line, ConfigLineKind kind, const char *name, size_t name_length,
		const char *text)
{
	line->kind = kind;
	line->name = g_strstrip(g_strndup(name, name_length));
	line->text = g_strstrip(g_strdup(text));
}

static void set_wrong(ConfigLine *line, const char *why)
{
	set(line, CONFIG_LINE_WRONG, why, strlen(why), "");
}

/* Parse @text, which is not empty and has no blanks at its ends. */
static void parse(char *text, ConfigLine *ret)
{
	size_t length = strlen(text);
	const char *equals = strchr(text, '=');
	size_t word;

	if (*text == '[' && text[length - 1] == ']') {
		text[length - 1] = '\0';
		g_strstrip(++text);
		word = strcspn(text, " \t");
		set(ret, CONFIG_LINE_SECTION, text, word, text + word);
	} else if (*text == '[') {
		set_wrong(ret, "a section ends with ]");
	} else if (!equals || equals == text) {
		set_wrong(ret,
			  "this is neither [SECTION] nor KEY=VALUE, nor a comment, which begins "
			  "with #");
	} else {
		set(ret, CONFIG_LINE_VALUE, text, (size_t)(equals - text), equals + 1);
	}
}

bool config_lines_next(ConfigLines *lines, ConfigLine *ret)
{
	while (lines->length > 0) {
		const char *end = memchr(lines->at, '\n', lines->length);
		size_t length = end ? (size_t)(end - lines->at) : lines->length;
		g_autofree char *text = g_strstrip(g_strndup(lines->at, length));
		bool has_nul = memchr(lines->at, '\0', length);
		size_t taken = length + (end != NULL);

		lines->at += taken;
		lines->length -= taken;
		lines->number++;
		*ret = (ConfigLine){ .number = lines->number };
		if (has_nul) {
			set_wrong(ret, "there is a NUL in this line");
			return true;
		}
		if (*text == '\0' || *text == '#' || *text == ';')
			continue;
		parse(text, ret);
		return true;
	}

	return false;
}
