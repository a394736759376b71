/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/waste-key.h"

#include "common/text/path.h"

#include <pwd.h>
#include <stdbool.h>
#include <string.h>

/* The maximum length of an extension without the dot.  A longer one is part of the name. */
#define TYPE_LETTERS_MOST 12

#define DAY_NSEC INT64_C(86400000000000)

const char *const waste_by_names[] = { "directory", "owner", "age", "type", "subvolume", NULL };

static const char *base_of(const char *path, const GPtrArray *bases)
{
	const char *longest = "/";

	for (guint i = 0; i < bases->len; i++) {
		const char *base = bases->pdata[i];

		if (path_lies_in(path, base) && strlen(base) > strlen(longest))
			longest = base;
	}

	return longest;
}

char *waste_key_directory(const char *path, const GPtrArray *bases, unsigned depth)
{
	const char *base = base_of(path, bases);
	const char *end = strrchr(path, '/');
	/* Paths of unmounted subvolumes do not begin with a slash. */
	const char *cut = strcmp(base, "/") == 0 ? strchr(path, '/') : path + strlen(base);

	/* The place is a file. */
	if (!end || cut > end)
		return g_strdup(base);
	for (; depth > 0 && cut < end; depth--)
		cut = strchr(cut + 1, '/');

	return cut == path ? g_strdup("/") : g_strndup(path, (size_t)(cut - path));
}

/* Whether it looks like an extension, not like part of a sentence or a version. */
static bool is_type(const char *ending)
{
	size_t n_letters = 0;
	bool has_letter = false;

	for (; *ending; ending++, n_letters++) {
		if (!g_ascii_isalnum(*ending) && !strchr("_-+~", *ending))
			return false;
		has_letter |= g_ascii_isalpha(*ending);
	}

	return n_letters > 0 && n_letters <= TYPE_LETTERS_MOST && has_letter;
}

char *waste_key_type(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	/* A dot at the beginning hides the file. */
	const char *dot = *name ? strrchr(name + 1, '.') : NULL;

	return dot && is_type(dot + 1) ? g_ascii_strdown(dot, -1) : g_strdup("(none)");
}

char *waste_key_age(int64_t mtime_nsec, int64_t now_nsec)
{
	static const struct {
		int64_t days;
		const char *text;
	} ages[] = {
		{ 1, "under 1 day" },        { 7, "1 to 7 days" },        { 30, "7 to 30 days" },
		{ 90, "1 to 3 months" },     { 180, "3 to 6 months" },    { 365, "6 to 12 months" },
		{ 2 * 365, "1 to 2 years" }, { 5 * 365, "2 to 5 years" },
	};

	if (mtime_nsec > now_nsec)
		return g_strdup("in the future");
	for (size_t i = 0; i < G_N_ELEMENTS(ages); i++)
		if (mtime_nsec > now_nsec - ages[i].days * DAY_NSEC)
			return g_strdup(ages[i].text);

	return g_strdup("over 5 years");
}

char *waste_key_owner(uint32_t uid)
{
	const struct passwd *user = getpwuid(uid);

	return user ? g_strdup(user->pw_name) : g_strdup_printf("%" G_GUINT32_FORMAT, uid);
}
