/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/name-text.h"

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

/*
 * The byte of an escape, at the character after the backslash.  Returns the length of the escape; 0: invalid.
 */
static size_t read_escaped(const char *at, char *ret)
{
	switch (*at) {
	case 'n':
		*ret = '\n';
		return 1;
	case 't':
		*ret = '\t';
		return 1;
	case 'e':
		*ret = '\033';
		return 1;
	case '\\':
		*ret = '\\';
		return 1;
	case 'x':
		if (!g_ascii_isxdigit(at[1]) || !g_ascii_isxdigit(at[2]))
			return 0;
		*ret = (char)(g_ascii_xdigit_value(at[1]) << 4 | g_ascii_xdigit_value(at[2]));
		return 3;
	default:
		return 0;
	}
}

char *name_text_bytes(const char *text, size_t *ret_length)
{
	g_autoptr(GString) bytes = g_string_new(NULL);

	while (*text) {
		size_t n = 1;
		char byte = *text;

		if (*text == '\\') {
			text++;
			n = read_escaped(text, &byte);
			if (n == 0)
				return NULL;
		}
		g_string_append_c(bytes, byte);
		text += n;
	}

	*ret_length = bytes->len;
	return g_string_free(g_steal_pointer(&bytes), FALSE);
}
