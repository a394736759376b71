/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/name-text.h"
#include "tests/fuzz/fuzz.h"

#include <glib.h>
#include <string.h>

const char *const fuzz_seeds[] = {
	"plain",
	"\033[31m",
	"a\nb\tc",
	"back\\slash\\x41",
	"gr\xc3\xbc\xc3\x9f",
	"\xe2\x80\xae",
	"\xed\xa0\x80",
	"\xf0\x9f\x90\xa7",
	"\xf4\x90\x80\x80",
	"\xc0\x80",
	"\xff",
	NULL,
};

/* The byte behind a backslash, of which *at is moved to the last character. */
static char unescaped(const char **at)
{
	switch (**at) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'e':
		return '\033';
	case '\\':
		return '\\';
	case 'x':
		g_assert_true(g_ascii_isxdigit((*at)[1]) && g_ascii_isxdigit((*at)[2]));
		*at += 2;
		return (char)(g_ascii_xdigit_value((*at)[-1]) << 4 | g_ascii_xdigit_value(**at));
	default:
		g_error("\\%c", **at);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = name_text(data, size);
	g_autoptr(GString) bytes = g_string_new(NULL);

	g_assert_true(g_utf8_validate(text, -1, NULL));
	for (const char *at = text; *at; at = g_utf8_next_char(at))
		g_assert_true(g_unichar_isprint(g_utf8_get_char(at)));

	for (const char *at = text; *at; at++) {
		if (*at == '\\') {
			at++;
			g_string_append_c(bytes, unescaped(&at));
		} else {
			g_string_append_c(bytes, *at);
		}
	}
	g_assert_cmpmem(bytes->str, bytes->len, data, size);
	return 0;
}
