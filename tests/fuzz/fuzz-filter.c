/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/filter.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Lines: the path below /srv, then globs.  Long globs of many stars take fnmatch(3) long. */
#define GLOBS_MAX      8
#define GLOB_BYTES_MAX 24
#define PATH_BYTES_MAX 128

const char *const fuzz_seeds[] = {
	"a/b.tmp\n*.tmp\n/srv/*\na/",
	"a\n[!a-z]\n[[:alpha:]]\n[\n[]\n\\",
	"x/y/z\n**/z\n?/y/*",
	"\xff\xfe\n\xff*\n[\xfe]",
	"\n/\n//\n",
	NULL,
};

/* The glob that means @name and nothing else. */
static char *literal(const char *name)
{
	GString *glob = g_string_new(NULL);

	for (; *name; name++) {
		g_string_append_c(glob, '\\');
		g_string_append_c(glob, *name);
	}
	return g_string_free(glob, false);
}

static void check_literal(const char *path, const char *relative, const char *name)
{
	g_autofree char *glob = literal(name);
	char *globs[] = { glob, NULL };
	g_autoptr(Filter) filter = filter_new(globs, 0);

	if (*name)
		g_assert_true(filter_excludes(filter, path, relative, name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_auto(GStrv) lines = g_strsplit(text, "\n", 1 + GLOBS_MAX);
	g_autofree char *path = NULL;
	g_autofree const char **unmatched = NULL;
	g_autoptr(Filter) filter = NULL;
	const char *name, *relative;
	bool excluded;

	if (!lines[0])
		return 0;
	for (char **line = lines; *line; line++)
		if (strlen(*line) > (line == lines ? PATH_BYTES_MAX : GLOB_BYTES_MAX))
			(*line)[GLOB_BYTES_MAX] = '\0';

	path = g_strconcat("/srv/", lines[0], NULL);
	relative = path + strlen("/srv/");
	name = strrchr(path, '/') + 1;
	filter = filter_new(lines + 1, 0);
	excluded = filter_excludes(filter, path, relative, name);
	g_assert_cmpint(filter_excludes(filter, path, relative, name), ==, excluded);

	unmatched = filter_unmatched(filter);
	g_assert_cmpint(g_strv_length((char **)unmatched) < g_strv_length(lines + 1), ==, excluded);
	check_literal(path, relative, name);
	return 0;
}
