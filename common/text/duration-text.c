/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/duration-text.h"

#include "common/text/name-text.h"
#include "common/text/usage-error.h"

#include <errno.h>
#include <string.h>

typedef struct {
	const char *name;
	uint64_t seconds;
} Unit;

static const Unit units[] = {
	{ "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 }, { "w", 7 * 86400 },
};

static bool refuse(const char *text, const char *why, GError **error)
{
	g_autofree char *shown = name_text(text, strlen(text));

	return usage_error_set(
		error,
		"\"%s\" is not a duration: %s (right would be 90s, 30min, 4h, 2d, 1w or "
		"1h 30min)",
		shown, why);
}

/* Parse the unit at *@text, and move *@text behind it; NULL: none. */
static const Unit *take_unit(const char **text)
{
	size_t length = 0;

	while (g_ascii_isalpha((*text)[length]))
		length++;
	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		if (strlen(units[i].name) != length ||
		    g_ascii_strncasecmp(*text, units[i].name, length) != 0)
			continue;
		*text += length;
		return &units[i];
	}

	return NULL;
}

bool duration_parse(const char *text, uint64_t *ret_usec, GError **error)
{
	const char *at = text;
	uint64_t seconds = 0;

	do {
		const Unit *unit;
		uint64_t count;
		char *end;

		/* strtoull() would accept a sign and spaces. */
		if (!g_ascii_isdigit(*at))
			return refuse(text, "a number is missing", error);
		errno = 0;
		count = g_ascii_strtoull(at, &end, 10);
		at = end + (*end == ' ');
		unit = take_unit(&at);
		if (!unit)
			return refuse(text, "a unit is none of s, min, h, d, w", error);
		if (errno == ERANGE || count > UINT64_MAX / 2 / G_USEC_PER_SEC / unit->seconds ||
		    seconds > UINT64_MAX / 2 / G_USEC_PER_SEC - count * unit->seconds)
			return refuse(text, "it is too long", error);
		seconds += count * unit->seconds;
		at += *at == ' ';
	} while (*at != '\0');

	*ret_usec = seconds * G_USEC_PER_SEC;
	return true;
}
