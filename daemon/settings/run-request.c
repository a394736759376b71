/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings/run-request.h"

#include "common/text/name-text.h"
#include "common/text/word-list.h"
#include "daemon/context/filesystem.h"
#include "daemon/settings/options.h"

#include <string.h>

/* Options of dedupd that a request may set; the first ones have no value. */
static const char *const wishes_known[] = { "dry-run", "changed", "min-size", "min-age",
					    "exclude", "run-for", NULL };

#define FLAGS 2

void run_request_free(RunRequest *request)
{
	if (!request)
		return;

	g_strfreev(request->paths);
	g_strfreev(request->wishes);
	g_free(request);
}

static void refuse(GError **error, const char *what, const char *why)
{
	g_autofree char *shown = name_text(what, strlen(what));

	g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE, "%s %s", shown, why);
}

/* Whether a request may set the option. */
static bool is_known(const char *wish)
{
	for (size_t i = 0; wishes_known[i]; i++) {
		size_t length = strlen(wishes_known[i]);

		if (strncmp(wish, wishes_known[i], length) == 0 &&
		    wish[length] == (i < FLAGS ? '\0' : '='))
			return true;
	}

	return false;
}

/* The shorter of two times; 0 is no limit. */
static uint64_t shorter_usec(uint64_t one, uint64_t other)
{
	return one == 0 || other == 0 ? MAX(one, other) : MIN(one, other);
}

/* Take the @arguments that a request may set: the others are the service's. */
static bool take_arguments(Settings *settings, char **arguments, GError **error)
{
	g_auto(GStrv) taken = g_strdupv(arguments);
	g_auto(Settings) wished = { .min_size_bytes = settings->min_size_bytes,
				    .min_age_usec = settings->min_age_usec };
	bool done;

	if (!options_parse(&taken, &wished, &done, error))
		return false;

	settings->dry_run |= wished.dry_run;
	settings->only_changed |= wished.only_changed;
	settings->run_for_usec = shorter_usec(settings->run_for_usec, wished.run_for_usec);
	settings->min_size_bytes = wished.min_size_bytes;
	settings->min_age_usec = wished.min_age_usec;
	settings_add_excludes(settings, wished.excludes);
	return true;
}

static bool take_wishes(Settings *settings, char *const *wishes, GError **error)
{
	g_autoptr(GStrvBuilder) words = g_strv_builder_new();
	g_auto(GStrv) arguments = NULL;

	g_strv_builder_add_many(words, "run", "--once", NULL);
	for (size_t i = 0; wishes[i]; i++) {
		g_autofree char *option = g_strconcat("--", wishes[i], NULL);

		if (i >= RUN_WISHES_MOST || !is_known(wishes[i])) {
			g_autofree char *right = word_list_text(wishes_known);
			g_autofree char *why = g_strdup_printf("cannot be asked for: %s", right);

			refuse(error, wishes[i], why);
			return false;
		}
		g_strv_builder_add(words, option);
	}

	arguments = g_strv_builder_end(words);
	return take_arguments(settings, arguments, error);
}

static bool check_paths(char *const *paths, GError **error)
{
	if (!paths[0] || g_strv_length((char **)paths) > RUN_PATHS_MOST) {
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_PATH,
			    "a pass over directories needs one at least, and takes %d at most",
			    RUN_PATHS_MOST);
		return false;
	}
	for (size_t i = 0; paths[i]; i++) {
		if (g_path_is_absolute(paths[i]))
			continue;
		refuse(error, paths[i], "is no absolute path");
		return false;
	}

	return true;
}

Settings *run_request_settings(const RunRequest *request, const Settings *settings, GError **error)
{
	Settings *wished = settings_copy(settings);

	wished->is_for_one_pass = true;
	if (take_wishes(wished, request->wishes, error))
		return wished;

	settings_unref(wished);
	return NULL;
}

RunRequest *run_request_new(char *const *paths, char *const *wishes, GError **error)
{
	g_autoptr(RunRequest) request = g_new0(RunRequest, 1);
	Settings *any = settings_new();
	bool are_right = check_paths(paths, error) && take_wishes(any, wishes, error);

	settings_unref(any);
	if (!are_right)
		return NULL;

	request->paths = g_strdupv((char **)paths);
	request->wishes = g_strdupv((char **)wishes);
	return g_steal_pointer(&request);
}
