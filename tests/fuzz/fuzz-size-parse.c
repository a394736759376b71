/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/size-text.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define UNTOUCHED UINT64_C(0x5ca1ab1e)

const char *const fuzz_seeds[] = {
	"0",
	"4096",
	"64K",
	"1.5 GiB",
	"15.99999999999999999999999E",
	"18446744073709551615",
	"16383.5P",
	"0.000001t",
	"1e9",
	"\xff",
	"1.",
	"iB",
	NULL,
};

static void check_message(const GError *error)
{
	g_assert_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE);
	g_assert_true(g_utf8_validate(error->message, -1, NULL));
	for (const char *at = error->message; *at; at = g_utf8_next_char(at))
		g_assert_true(g_unichar_isprint(g_utf8_get_char(at)));
}

/* What is shown is what was meant, to three digits. */
static void check_shown(uint64_t bytes)
{
	g_autofree char *shown = size_text(bytes);
	g_autoptr(GError) error = NULL;
	uint64_t again;

	if (bytes >= UINT64_MAX - (UINT64_C(1) << 58))
		return; /* it may be rounded up to 16 EiB, which is no number of 64 bits */
	g_assert_true(size_parse(shown, &again, &error));
	g_assert_cmpfloat((double)again, >=, 0.994 * (double)bytes);
	g_assert_cmpfloat((double)again, <=, 1.006 * (double)bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_autoptr(GError) error = NULL;
	uint64_t bytes = UNTOUCHED;

	if (!size_parse(text, &bytes, &error)) {
		g_assert_cmpuint(bytes, ==, UNTOUCHED);
		check_message(error);
		return 0;
	}

	g_assert_no_error(error);
	g_assert_true(g_ascii_isdigit(*text));
	g_assert_cmpuint(bytes, >=, g_ascii_strtoull(text, NULL, 10));
	check_shown(bytes);
	return 0;
}
