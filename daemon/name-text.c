/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/name-text.h"

#include <glib.h>
#include <stdbool.h>

static bool may_stay(gunichar character)
{
	switch (g_unichar_type(character)) {
	case G_UNICODE_LINE_SEPARATOR:
	case G_UNICODE_PARAGRAPH_SEPARATOR:
	case G_UNICODE_PRIVATE_USE:
		return false;
	default:
		return g_unichar_isprint(character);
	}
}

static void append_escaped(GString *text, unsigned char byte)
{
	switch (byte) {
	case '\n':
		g_string_append(text, "\\n");
		break;
	case '\t':
		g_string_append(text, "\\t");
		break;
	case '\033':
		g_string_append(text, "\\e");
		break;
	case '\\':
		g_string_append(text, "\\\\");
		break;
	default:
		g_string_append_printf(text, "\\x%02x", byte);
	}
}

char *name_text(const void *bytes, size_t length)
{
	const char *at = bytes;
	const char *end = at + length;
	GString *text = g_string_sized_new(length);

	while (at < end) {
		gunichar character = g_utf8_get_char_validated(at, end - at);
		bool is_character = character < (gunichar)-2;
		size_t n = is_character ? (size_t)g_unichar_to_utf8(character, NULL) : 1;

		if (is_character && character != '\\' && may_stay(character)) {
			g_string_append_len(text, at, (gssize)n);
		} else {
			for (size_t i = 0; i < n; i++)
				append_escaped(text, (unsigned char)at[i]);
		}
		at += n;
	}

	return g_string_free(text, FALSE);
}
