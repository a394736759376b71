/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/name-text.h"
#include "tests/fuzz/fuzz.h"

#include <glib.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = name_text(data, size);
	g_autofree char *bytes = NULL;
	size_t n_bytes;

	g_assert_true(g_utf8_validate(text, -1, NULL));
	for (const char *at = text; *at; at = g_utf8_next_char(at))
		g_assert_true(g_unichar_isprint(g_utf8_get_char(at)));

	bytes = name_text_bytes(text, &n_bytes);
	g_assert_cmpmem(bytes, n_bytes, data, size);
	/* Whatever it is, it is refused or taken. */
	g_autofree char *asked = g_strndup((const char *)data, size);
	char *taken = name_text_bytes(asked, &n_bytes);
	g_free(taken);
	return 0;
}
