/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/size-text.h"

#include "common/text/name-text.h"
#include "common/text/usage-error.h"

#include <errno.h>
#include <string.h>

static const char UNITS[] = "BKMGTPE";

char *size_text(uint64_t bytes)
{
	double value = bytes;
	unsigned unit = 0;

	while (value >= 1024) {
		value /= 1024;
		unit++;
	}

	if (unit == 0)
		return g_strdup_printf("%" G_GUINT64_FORMAT " B", bytes);

	/* From 1000 on, a fourth digit is better than "0.98" of the next unit. */
	unsigned decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	unsigned scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
	unsigned scaled = (unsigned)(value * scale + 0.5);

	if (scaled == 1024 && scale == 1 && UNITS[unit + 1] != '\0') {
		scaled = 1;
		unit++;
	}
	while (scale > 1 && scaled % 10 == 0) {
		scaled /= 10;
		scale /= 10;
		decimals--;
	}

	if (decimals == 0)
		return g_strdup_printf("%u %ciB", scaled, UNITS[unit]);
	return g_strdup_printf("%u.%0*u %ciB", scaled / scale, (int)decimals, scaled % scale,
			       UNITS[unit]);
}

/* The unit at @text as a power of two; -1: invalid. */
static int unit_shift(const char *text)
{
	if (*text == '\0')
		return 0;

	for (int i = 0; UNITS[i] != '\0'; i++) {
		if (g_ascii_toupper(*text) != UNITS[i])
			continue;
		if (text[1] == '\0' || (i > 0 && g_ascii_strcasecmp(text + 1, "iB") == 0))
			return 10 * i;
	}
	return -1;
}

/*
 * Parse the digits after a decimal point as a fraction; digits beyond the precision of a double are skipped.
 */
static double take_fraction(const char **text)
{
	double fraction = 0;

	for (double place = 0.1; g_ascii_isdigit(**text); (*text)++, place /= 10)
		fraction += place * (**text - '0');
	return fraction;
}

static bool refuse(const char *text, const char *why, GError **error)
{
	g_autofree char *shown = name_text(text, strlen(text));

	return usage_error_set(error,
			       "\"%s\" is not a size: %s (right would be 4096, 64K, 64MiB or 1.5G)",
			       shown, why);
}

bool size_parse(const char *text, uint64_t *ret_bytes, GError **error)
{
	char *end;

	/* strtoull() would accept a sign and spaces. */
	if (!g_ascii_isdigit(*text))
		return refuse(text, "it does not begin with a digit", error);

	errno = 0;
	uint64_t whole = g_ascii_strtoull(text, &end, 10);
	if (errno == ERANGE)
		return refuse(text, "it is too large", error);

	double fraction = 0;
	bool has_fraction = end[0] == '.' && g_ascii_isdigit(end[1]);
	const char *rest = end;
	if (has_fraction) {
		rest++;
		fraction = take_fraction(&rest);
	}
	if (rest[0] == ' ')
		rest++;

	int shift = unit_shift(rest);
	if (shift < 0)
		return refuse(text, "its unit is none of B, K, M, G, T, P, E", error);
	if (has_fraction && shift == 0)
		return refuse(text, "there are no parts of a byte", error);
	if (whole > UINT64_MAX >> shift)
		return refuse(text, "it is too large", error);

	/* 0.999... with many digits rounds to 1 in a double, which could overflow the sum. */
	uint64_t unit = UINT64_C(1) << shift;
	*ret_bytes = (whole << shift) + MIN((uint64_t)(fraction * (double)unit), unit - 1);
	return true;
}
