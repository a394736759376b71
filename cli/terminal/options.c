/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/options.h"

#include "common/config/config.h"
#include "common/text/duration-text.h"
#include "common/text/state-directory.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "dedupctl"

#define COUNT_NOT_GIVEN INT_MIN

#define INTERVAL_USUAL 1.0
#define INTERVAL_LEAST 0.1
#define INTERVAL_MOST  3600.0

void options_clear(Options *options)
{
	g_clear_pointer(&options->state_directory, g_free);
	g_clear_pointer(&options->config, g_free);
	g_clear_pointer(&options->config_directory, g_free);
	g_clear_pointer(&options->rate, g_free);
	g_clear_pointer(&options->iops, g_free);
	g_clear_pointer(&options->columns, g_free);
	g_clear_pointer(&options->keep, g_free);
	g_clear_pointer(&options->min_size, g_free);
	g_clear_pointer(&options->under, g_free);
	g_clear_pointer(&options->since, g_free);
	g_clear_pointer(&options->directory, g_free);
	g_clear_pointer(&options->format, g_free);
	g_clear_pointer(&options->by, g_free);
	g_clear_pointer(&options->min_age, g_free);
	g_clear_pointer(&options->run_for, g_free);
	g_clear_pointer(&options->files_from, g_free);
	g_clear_pointer(&options->excludes, g_strfreev);
	g_clear_pointer(&options->sample, g_free);
	g_clear_pointer(&options->limit_rate, g_free);
	g_clear_pointer(&options->why, g_free);
	g_clear_pointer(&options->command, g_strfreev);
	g_clear_pointer(&options->names, g_strfreev);
}

bool options_are_for_programs(const Options *options)
{
	return options->json || options->columns || options->raw || options->no_headings;
}

static void add_common_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "state-dir", 0, 0, G_OPTION_ARG_FILENAME, &options->state_directory,
		  "Read the stores in DIR", "DIR" },
		{ "json", 'J', 0, G_OPTION_ARG_NONE, &options->json, "Print JSON", NULL },
		{ "bytes", 'b', 0, G_OPTION_ARG_NONE, &options->bytes, "Print sizes in bytes",
		  NULL },
		{ "no-pager", 0, 0, G_OPTION_ARG_NONE, &options->no_pager,
		  "Show tables without a pager, on a terminal, too", NULL },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

/* In 'log', -n has the same meaning as in journalctl. */
static void add_table_entries(GOptionContext *context, Options *options, VerbOptions takes)
{
	char for_headings = takes & VERB_TAKES_LOG ? 0 : 'n';
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_STRING, &options->columns,
		  "Print these columns, by commas; after '+' besides those shown", "COLUMNS" },
		{ "raw", 'r', 0, G_OPTION_ARG_NONE, &options->raw,
		  "Print columns with a blank between, others as \\x20", NULL },
		{ "noheadings", for_headings, 0, G_OPTION_ARG_NONE, &options->no_headings,
		  "Print no headings", NULL },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_verbose_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose,
		  "Show what was left alone on every filesystem, with examples", NULL },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_config_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = { { "config", 0, 0, G_OPTION_ARG_FILENAME, &options->config,
					   "Read the configuration in FILE alone, or none",
					   "FILE|none" },
					 { NULL } };

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_check_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "check", 0, 0, G_OPTION_ARG_NONE, &options->check,
		  "Say what is wrong in the files that are named, or in the configuration", NULL },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_budget_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "rate", 0, 0, G_OPTION_ARG_STRING, &options->rate,
		  "Have the disks that are named read and write SIZE per second at most",
		  "SIZE|none" },
		{ "iops", 0, 0, G_OPTION_ARG_STRING, &options->iops,
		  "Ask them for no more than N requests per second", "N|none" },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_config_directory_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = { { "config-dir", 0, 0, G_OPTION_ARG_FILENAME,
					   &options->config_directory,
					   "Look at and change the configuration in DIR", "DIR" },
					 { NULL } };

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_keep_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "keep", 0, 0, G_OPTION_ARG_STRING, &options->keep,
		  "Keep passes of the last TIME, as 90d or 26w; without, all that are there",
		  "TIME" },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_plot_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = { { "plot", 0, 0, G_OPTION_ARG_NONE, &options->plot,
					   "Draw what each pass freed and read", NULL },
					 { NULL } };

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_wait_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = { { "wait", 'w', 0, G_OPTION_ARG_NONE, &options->wait,
					   "Wait until the pass has ended, and say what came of it",
					   NULL },
					 { NULL } };

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_watch_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "watch", 'w', 0, G_OPTION_ARG_NONE, &options->watch,
		  "Show what the service does until you end it", NULL },
		{ "interval", 0, 0, G_OPTION_ARG_DOUBLE, &options->interval,
		  "With --watch, look how far passes are every so many seconds (default 1)",
		  "SECONDS" },
		{ NULL }
	};

	options->interval = INTERVAL_USUAL;
	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_log_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "follow", 'f', 0, G_OPTION_ARG_NONE, &options->is_following,
		  "Go on with what is said from now on", NULL },
		{ "lines", 'n', 0, G_OPTION_ARG_INT, &options->lines,
		  "Show the last N messages; 0: all (100, unless --since says otherwise)", "N" },
		{ "since", 0, 0, G_OPTION_ARG_STRING, &options->since,
		  "Show messages from then on: a date, today, yesterday, or how long ago, as 2h",
		  "TIME" },
		{ "directory", 0, 0, G_OPTION_ARG_FILENAME, &options->directory,
		  "Read the journal in DIR", "DIR" },
		{ NULL }
	};

	options->lines = COUNT_NOT_GIVEN;
	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_verify_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "sample", 0, 0, G_OPTION_ARG_STRING, &options->sample,
		  "Verify N percent of the objects, by chance (default 1)", "N%" },
		{ "limit-rate", 0, 0, G_OPTION_ARG_STRING, &options->limit_rate,
		  "Read SIZE per second at most", "SIZE" },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_duplicates_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "all", 0, 0, G_OPTION_ARG_NONE, &options->show_all,
		  "Show also groups of which sharing would free nothing", NULL },
		{ "files", 0, 0, G_OPTION_ARG_NONE, &options->files,
		  "Show groups of files that are equal as a whole, which is done anyway", NULL },
		{ "runs", 0, 0, G_OPTION_ARG_NONE, &options->runs,
		  "Show groups of equal parts of files, if that can be told", NULL },
		{ "min", 0, 0, G_OPTION_ARG_STRING, &options->min_size, "Leave out smaller files",
		  "SIZE" },
		{ "under", 0, 0, G_OPTION_ARG_FILENAME, &options->under,
		  "Compare only files below DIR with each other", "DIR" },
		{ "format", 0, 0, G_OPTION_ARG_STRING, &options->format,
		  "Print a table, names as fdupes does, JSON or CSV", "table|fdupes|json|csv" },
		{ "limit", 0, 0, G_OPTION_ARG_INT, &options->limit,
		  "Print N groups; 0: all (of a table 100, unless this says otherwise)", "N" },
		{ "null", '0', 0, G_OPTION_ARG_NONE, &options->nul,
		  "Print names as they are, each ended by NUL, and an empty one after each group",
		  NULL },
		{ NULL }
	};

	options->limit = COUNT_NOT_GIVEN;
	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_null_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "null", '0', 0, G_OPTION_ARG_NONE, &options->nul,
		  "Print nothing but names, as they are, each ended by NUL", NULL },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_run_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "dry-run", 0, 0, G_OPTION_ARG_NONE, &options->dry_run,
		  "Find and report, but share nothing", NULL },
		{ "min-size", 0, 0, G_OPTION_ARG_STRING, &options->min_size,
		  "Leave files below SIZE alone", "SIZE" },
		{ "min-age", 0, 0, G_OPTION_ARG_STRING, &options->min_age,
		  "Leave files written to within TIME for a later pass", "TIME" },
		{ "exclude", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->excludes,
		  "Leave alone what matches GLOB (repeatable)", "GLOB" },
		{ "run-for", 0, 0, G_OPTION_ARG_STRING, &options->run_for,
		  "End a pass after TIME; the next one goes on", "TIME" },
		{ "changed", 0, 0, G_OPTION_ARG_NONE, &options->changed,
		  "Go by what changed since the last pass, and make no first one", NULL },
		{ "queue", 0, 0, G_OPTION_ARG_NONE, &options->queue,
		  "Wait for a pass that runs, or is about to, instead of failing", NULL },
		{ "files-from", 0, 0, G_OPTION_ARG_FILENAME, &options->files_from,
		  "Read names of files or directories, one in a line, from FILE, or from standard "
		  "input (-)",
		  "FILE" },
		{ "null", '0', 0, G_OPTION_ARG_NONE, &options->nul,
		  "With --files-from: names end with NUL", NULL },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_waste_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "by", 0, 0, G_OPTION_ARG_STRING, &options->by,
		  "Add up by this (default directory)", "directory|owner|age|type|subvolume" },
		{ "depth", 0, 0, G_OPTION_ARG_INT, &options->depth,
		  "Add up what lies more than N levels deep (default 1)", "N" },
		{ "min", 0, 0, G_OPTION_ARG_STRING, &options->min_size, "Leave out smaller files",
		  "SIZE" },
		{ "limit", 0, 0, G_OPTION_ARG_INT, &options->limit,
		  "Print N rows; 0: all (of a table 20, unless this says otherwise)", "N" },
		{ NULL }
	};

	options->depth = COUNT_NOT_GIVEN;
	options->limit = COUNT_NOT_GIVEN;
	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_estimate_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "full", 0, 0, G_OPTION_ARG_NONE, &options->full,
		  "Read everything, where that takes reading files", NULL },
		{ "sample", 0, 0, G_OPTION_ARG_STRING, &options->sample,
		  "Read N percent there (default: 6.25, and what is below 1 GiB as a whole)",
		  "N%" },
		{ "exclude", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->excludes,
		  "Leave out what matches, too", "GLOB" },
		{ "min-size", 0, 0, G_OPTION_ARG_STRING, &options->min_size,
		  "Leave out smaller files", "SIZE" },
		{ "limit-rate", 0, 0, G_OPTION_ARG_STRING, &options->limit_rate,
		  "Read SIZE per second at most", "SIZE" },
		{ "plot", 0, 0, G_OPTION_ARG_NONE, &options->plot,
		  "Draw what blocks of each size would free", NULL },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_replace_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = { { "replace", 0, 0, G_OPTION_ARG_NONE, &options->replace,
					   "Move a store aside that is there already", NULL },
					 { NULL } };

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_command_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "why", 0, 0, G_OPTION_ARG_STRING, &options->why,
		  "Say why, to those who ask (default: the command's name)", "TEXT" },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_delete_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = {
		{ "delete", 0, 0, G_OPTION_ARG_NONE, &options->deletes,
		  "Say what deleting these subvolumes together would free; none is deleted", NULL },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_resume_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = { { "resume", 0, 0, G_OPTION_ARG_NONE, &options->resume,
					   "End a pause first, instead of refusing", NULL },
					 { NULL } };

	g_option_context_add_main_entries(context, entries, NULL);
}

static void add_all_entries(GOptionContext *context, Options *options)
{
	const GOptionEntry entries[] = { { "all", 0, 0, G_OPTION_ARG_NONE, &options->all,
					   "Take all filesystems that the service knows", NULL },
					 { NULL } };

	g_option_context_add_main_entries(context, entries, NULL);
}

static const struct {
	VerbOptions takes;
	void (*add)(GOptionContext *context, Options *options);
} groups[] = {
	{ VERB_TAKES_VERBOSE, add_verbose_entries },
	{ VERB_TAKES_CONFIG, add_config_entries },
	{ VERB_TAKES_CHECK, add_check_entries },
	{ VERB_TAKES_BUDGET, add_budget_entries },
	{ VERB_TAKES_CONFIG_DIRECTORY, add_config_directory_entries },
	{ VERB_TAKES_KEEP, add_keep_entries },
	{ VERB_TAKES_PLOT, add_plot_entries },
	{ VERB_TAKES_WAIT, add_wait_entries },
	{ VERB_TAKES_WATCH, add_watch_entries },
	{ VERB_TAKES_LOG, add_log_entries },
	{ VERB_TAKES_ESTIMATE, add_estimate_entries },
	{ VERB_TAKES_SAMPLE, add_verify_entries },
	{ VERB_TAKES_DUPLICATES, add_duplicates_entries },
	{ VERB_TAKES_WASTE, add_waste_entries },
	{ VERB_TAKES_RUN, add_run_entries },
	{ VERB_TAKES_NULL, add_null_entries },
	{ VERB_TAKES_REPLACE, add_replace_entries },
	{ VERB_TAKES_COMMAND, add_command_entries },
	{ VERB_TAKES_DELETE, add_delete_entries },
	{ VERB_TAKES_RESUME, add_resume_entries },
	{ VERB_TAKES_ALL, add_all_entries },
};

bool options_parse_common(Options *options, char ***arguments, const char *description,
			  GError **error)
{
	g_autoptr(GOptionContext) context = g_option_context_new("VERB [UUID|MOUNT…]");
	const GOptionEntry entries[] = { { "version", 0, 0, G_OPTION_ARG_NONE, &options->version,
					   "Print the version", NULL },
					 { NULL } };

	g_set_prgname(PROGRAM);
	g_option_context_set_summary(context, "Shows what dedupd did and what it remembers.");
	g_option_context_set_description(context, description);
	g_option_context_set_strict_posix(context, TRUE);
	add_common_entries(context, options);
	g_option_context_add_main_entries(context, entries, NULL);

	return g_option_context_parse_strv(context, arguments, error);
}

/* The directory where dedupd keeps the stores. `dedupctl config` reports errors of the configuration. */
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
	options->state_directory_is_given = options->state_directory;
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

/* There is nothing else to say about bare names. */
static bool check_null(const Options *options, GError **error)
{
	if (!options->nul || options->files_from || (!options->json && !options->columns))
		return true;

	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
		    "-0 prints nothing but names: it does not go with %s",
		    options->json ? "--json" : "--output");
	return false;
}

static bool check_count(const char *option, int count, GError **error)
{
	if (count >= 0 || count == COUNT_NOT_GIVEN)
		return true;

	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: %d is below 0", option,
		    count);
	return false;
}

static bool check_counts(const Options *options, const VerbUsage *usage, GError **error)
{
	if (usage->takes & VERB_TAKES_LOG && !check_count("--lines", options->lines, error))
		return false;
	if (usage->takes & VERB_TAKES_WASTE && !check_count("--depth", options->depth, error))
		return false;
	return !(usage->takes & (VERB_TAKES_WASTE | VERB_TAKES_DUPLICATES)) ||
	       check_count("--limit", options->limit, error);
}

/* Refuse combinations that contradict each other, or have no meaning. */
static bool check_together(const Options *options, const VerbUsage *usage, GError **error)
{
	if (options->full && options->sample) {
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
				    "--full reads everything: it does not go with --sample");
		return false;
	}
	if (*usage->arguments == '\0' && options->names) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "it takes no names: '%s'", options->names[0]);
		return false;
	}

	return true;
}

static bool take_keep(Options *options, GError **error)
{
	if (!options->keep)
		return true;
	if (!duration_parse(options->keep, &options->keep_usec, error)) {
		g_prefix_error(error, "--keep: ");
		return false;
	}
	if (options->keep_usec > 0 && options->keep_usec < INT64_MAX)
		return true;

	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
		    "--keep: %s is not a time to keep passes for", options->keep);
	return false;
}

static bool take_interval(Options *options, GError **error)
{
	if (!options->watch ||
	    (options->interval >= INTERVAL_LEAST && options->interval <= INTERVAL_MOST))
		return true;

	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
		    "--interval: %g is none: 0.1 to 3600 seconds", options->interval);
	return false;
}

/* Remove all words after "--" from @arguments: GLib would mix them with the names before. */
static void take_command(Options *options, char **arguments)
{
	for (char **word = arguments; *word; word++) {
		if (strcmp(*word, "--") != 0)
			continue;
		options->command = g_strdupv(word + 1);
		for (char **behind = word; *behind; behind++)
			g_clear_pointer(behind, g_free);
		return;
	}
}

bool options_parse_verb(Options *options, char ***arguments, const VerbUsage *usage, GError **error)
{
	g_autoptr(GOptionContext) context = g_option_context_new(usage->arguments);
	g_autofree char *program = g_strdup_printf("%s %s", PROGRAM, **arguments);
	const GOptionEntry names[] = { { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY,
					 &options->names, NULL, NULL },
				       { NULL } };

	if (usage->takes & VERB_TAKES_COMMAND)
		take_command(options, *arguments);
	g_set_prgname(program);
	g_option_context_set_summary(context, usage->summary);
	g_option_context_set_description(context, usage->columns);
	add_common_entries(context, options);
	if (usage->columns)
		add_table_entries(context, options, usage->takes);
	for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
		if (usage->takes & groups[i].takes)
			groups[i].add(context, options);
	g_option_context_add_main_entries(context, names, NULL);

	return g_option_context_parse_strv(context, arguments, error) &&
	       take_keep(options, error) && take_interval(options, error) &&
	       check_null(options, error) && check_counts(options, usage, error) &&
	       check_together(options, usage, error) && check(options, error);
}
