/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options.h"

#include "daemon/config.h"
#include "daemon/duration-text.h"
#include "daemon/state-directory.h"

#include <unistd.h>

#define PROGRAM "dedupctl"

/* GOption writes gboolean. */
typedef struct {
	gboolean json, bytes, raw, no_headings, verbose, version, check;
	gboolean nul, files, runs;
} Flags;

void options_clear(Options *options)
{
	g_clear_pointer(&options->state_directory, g_free);
	g_clear_pointer(&options->config, g_free);
	g_clear_pointer(&options->columns, g_free);
	g_clear_pointer(&options->min_size, g_free);
	g_clear_pointer(&options->under, g_free);
	g_clear_pointer(&options->format, g_free);
	g_clear_pointer(&options->rate, g_free);
	g_clear_pointer(&options->iops, g_free);
	g_clear_pointer(&options->config_directory, g_free);
	g_clear_pointer(&options->names, g_strfreev);
}

static void add_common_entries(GOptionContext *context, Options *options, Flags *flags)
{
	const GOptionEntry entries[] = {
		{ "state-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->state_directory,
		  "Read the stores in DIR", "DIR" },
		{ "json", 'J', 0, G_OPTION_ARG_NONE, &flags->json, "Print JSON", NULL },
		{ "bytes", 'b', 0, G_OPTION_ARG_NONE, &flags->bytes, "Print sizes in bytes", NULL },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_duplicates_entries(GOptionContext *context, Options *options, Flags *flags)
{
	const GOptionEntry entries[] = {
		{ "files", 0, 0, G_OPTION_ARG_NONE, &flags->files,
		  "Show groups of files that are equal as a whole, which is done anyway", NULL },
		{ "runs", 0, 0, G_OPTION_ARG_NONE, &flags->runs,
		  "Show groups of equal parts of files, if that can be told", NULL },
		{ "min", 0, 0, G_OPTION_ARG_STRING, &options->min_size, "Leave out smaller files",
		  "SIZE" },
		{ "under", 0, 0, G_OPTION_ARG_FILENAME, &options->under,
		  "Compare only files below DIR with each other", "DIR" },
		{ "format", 0, 0, G_OPTION_ARG_STRING, &options->format,
		  "Print a table, names as fdupes does, JSON or CSV", "table|fdupes|json|csv" },
		{ "limit", 0, 0, G_OPTION_ARG_INT, &options->limit,
		  "Print N groups; 0: all (of a table 100, unless this says otherwise)", "N" },
		{ "null", '0', 0, G_OPTION_ARG_NONE, &flags->nul,
		  "Print names as they are, each ended by NUL, and an empty one after each group",
		  NULL },
		{ NULL }
	};

	options->limit = -1;
	g_option_context_add_main_entries(context, entries, NULL);
}

static void take_flags(Options *options, const Flags *flags)
{
	options->json |= flags->json;
	options->bytes |= flags->bytes;
	options->raw |= flags->raw;
	options->no_headings |= flags->no_headings;
	options->verbose |= flags->verbose;
	options->version |= flags->version;
	options->check |= flags->check;
	options->nul |= flags->nul;
	options->runs |= flags->runs;
}

bool options_parse_common(Options *options, char ***arguments, const char *description,
			  GError **error)
{
	g_autoptr(GOptionContext) context = g_option_context_new("VERB [UUID|MOUNT…]");
	Flags flags = { 0 };
	const GOptionEntry entries[] = { { "version", 0, 0, G_OPTION_ARG_NONE, &flags.version,
					   "Print the version", NULL },
					 { NULL } };

	g_set_prgname(PROGRAM);
	g_option_context_set_summary(context, "Shows what dedupd did and what it remembers.");
	g_option_context_set_description(context, description);
	g_option_context_set_strict_posix(context, TRUE);
	add_common_entries(context, options, &flags);
	g_option_context_add_main_entries(context, entries, NULL);

	if (!g_option_context_parse_strv(context, arguments, error))
		return false;
	take_flags(options, &flags);
	return true;
}

/* Where dedupd keeps the stores; what is wrong with the configuration `dedupctl config` says. */
static char *find_state_directory(void)
{
	g_autoptr(Config) config = config_read(config_places_standard(), NULL);
	g_auto(Settings) settings = { 0 };

	if (config)
		config_settings(config, NULL, &settings);
	return geteuid() == 0 && settings.state_directory
		       ? g_steal_pointer(&settings.state_directory)
		       : state_directory_default();
}

static bool check(Options *options, GError **error)
{
	if (!options->state_directory)
		options->state_directory = find_state_directory();
	if (options->state_directory[0] == '\0') {
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
				    "--state-dir is empty: it takes a directory");
		return false;
	}
	for (char **name = options->names; name && *name; name++) {
		if (**name != '\0')
			continue;
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
				    "an empty name: give a file, a mount point or a UUID");
		return false;
	}

	return true;
}

static bool take_keep(Options *options, const char *text, GError **error)
{
	if (!duration_parse(text, &options->keep_usec, error)) {
		g_prefix_error(error, "--keep: ");
		return false;
	}
	if (options->keep_usec > 0 && options->keep_usec < INT64_MAX)
		return true;

	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
		    "--keep: %s is not a time to keep passes for", text);
	return false;
}

bool options_parse_verb(Options *options, char ***arguments, const char *summary,
			const char *columns, VerbOptions takes, GError **error)
{
	g_autoptr(GOptionContext) context =
		g_option_context_new(takes & VERB_TAKES_FILES ? "FILE…" : "[UUID|MOUNT…]");
	g_autofree char *program = g_strdup_printf("%s %s", PROGRAM, **arguments);
	Flags flags = { 0 };
	const GOptionEntry names[] = { { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY,
					 &options->names, NULL, NULL },
				       { NULL } };
	const GOptionEntry verbose[] = {
		{ "verbose", 'v', 0, G_OPTION_ARG_NONE, &flags.verbose,
		  "Show what was left alone on every filesystem, with examples", NULL },
		{ NULL }
	};
	const GOptionEntry table[] = {
		{ "output", 'o', 0, G_OPTION_ARG_STRING, &options->columns,
		  "Print these columns, by commas; after '+' besides those shown", "COLUMNS" },
		{ "raw", 'r', 0, G_OPTION_ARG_NONE, &flags.raw,
		  "Print columns with a blank between, others as \\x20", NULL },
		{ "noheadings", 'n', 0, G_OPTION_ARG_NONE, &flags.no_headings, "Print no headings",
		  NULL },
		{ NULL }
	};
	const GOptionEntry config[] = {
		{ "config", 0, 0, G_OPTION_ARG_FILENAME, &options->config,
		  "Read the configuration in FILE alone, or none", "FILE|none" },
		{ "check", 0, 0, G_OPTION_ARG_NONE, &flags.check,
		  "Say what is wrong in the files that are named, or in the configuration", NULL },
		{ NULL }
	};

	const GOptionEntry budget[] = {
		{ "rate", 0, 0, G_OPTION_ARG_STRING, &options->rate,
		  "Have the disks that are named read and write SIZE per second at most",
		  "SIZE|none" },
		{ "iops", 0, 0, G_OPTION_ARG_STRING, &options->iops,
		  "Ask them for no more than N requests per second", "N|none" },
		{ NULL }
	};
	const GOptionEntry config_directory[] = {
		{ "config-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->config_directory,
		  "Look at and change the configuration in DIR", "DIR" },
		{ NULL }
	};
	g_autofree char *keep_text = NULL;
	const GOptionEntry keep[] = {
		{ "keep", 0, 0, G_OPTION_ARG_STRING, &keep_text,
		  "Keep passes of the last TIME, as 90d or 26w; without, all that are there",
		  "TIME" },
		{ NULL }
	};

	g_set_prgname(program);
	g_option_context_set_summary(context, summary);
	g_option_context_set_description(context, columns);
	add_common_entries(context, options, &flags);
	if (columns)
		g_option_context_add_main_entries(context, table, NULL);
	if (takes & VERB_TAKES_VERBOSE)
		g_option_context_add_main_entries(context, verbose, NULL);
	if (takes & VERB_TAKES_CONFIG)
		g_option_context_add_main_entries(context, config, NULL);
	if (takes & VERB_TAKES_BUDGET)
		g_option_context_add_main_entries(context, budget, NULL);
	if (takes & VERB_TAKES_CONFIG_DIRECTORY)
		g_option_context_add_main_entries(context, config_directory, NULL);
	if (takes & VERB_TAKES_KEEP)
		g_option_context_add_main_entries(context, keep, NULL);
	if (takes & VERB_TAKES_DUPLICATES)
		add_duplicates_entries(context, options, &flags);
	g_option_context_add_main_entries(context, names, NULL);

	if (!g_option_context_parse_strv(context, arguments, error))
		return false;
	take_flags(options, &flags);
	if (keep_text && !take_keep(options, keep_text, error))
		return false;
	return check(options, error);
}
