/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/options.h"

#include "common/config/config.h"
#include "common/text/duration-text.h"
#include "common/text/size-text.h"
#include "common/text/state-directory.h"
#include "common/text/usage-error.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "dedupctl"

#define COUNT_NOT_GIVEN INT_MIN

#define INTERVAL_USUAL 1.0
#define INTERVAL_LEAST 0.1
#define INTERVAL_MOST  3600.0

/* More VerbOptions, which follow from the usage of a verb. */
#define ANY            0
#define TAKES_VERSION  (VERB_TAKES_ALL << 1) /* before a verb */
#define TAKES_TABLE    (VERB_TAKES_ALL << 2) /* a verb that prints a table */
#define TAKES_HEADINGS (VERB_TAKES_ALL << 3) /* the same, if -n is free for --noheadings */

/* The kind and the place of a value. */
#define AT(member)         GSIZE_TO_POINTER(offsetof(Options, member))
#define FLAG(member)       0, G_OPTION_ARG_NONE, AT(member)
#define TEXT(member)       0, G_OPTION_ARG_STRING, AT(member)
#define FILE_NAME(member)  0, G_OPTION_ARG_FILENAME, AT(member)
#define FILE_NAMES(member) 0, G_OPTION_ARG_FILENAME_ARRAY, AT(member)
#define COUNT(member)      0, G_OPTION_ARG_INT, AT(member)

/* All options, and which verbs take them.  arg_data is the offset in Options. */
static const struct {
	unsigned takes; /* any of these; ANY: all verbs */
	GOptionEntry entry;
} all_options[] = {
	{ ANY, { "state-dir", 0, FILE_NAME(state_directory), "Read the stores in DIR", "DIR" } },
	{ ANY, { "json", 'J', FLAG(json), "Print JSON", NULL } },
	{ ANY, { "bytes", 'b', FLAG(bytes), "Print sizes in bytes", NULL } },
	{ ANY,
	  { "no-pager", 0, FLAG(no_pager), "Show tables without a pager, on a terminal, too",
	    NULL } },
	{ TAKES_VERSION, { "version", 0, FLAG(version), "Print the version", NULL } },
	{ TAKES_TABLE,
	  { "output", 'o', TEXT(columns),
	    "Print these columns, separated by commas; '+' adds to those shown", "COLUMNS" } },
	{ TAKES_TABLE,
	  { "raw", 'r', FLAG(raw), "Separate columns by one blank, and print other blanks as \\x20",
	    NULL } },
	{ TAKES_HEADINGS, { "noheadings", 'n', FLAG(no_headings), "Print no headings", NULL } },
	/* Here -n has the same meaning as in journalctl. */
	{ VERB_TAKES_LOG, { "noheadings", 0, FLAG(no_headings), "Print no headings", NULL } },
	{ VERB_TAKES_VERBOSE,
	  { "verbose", 'v', FLAG(verbose),
	    "Show what passes skipped on every filesystem, with examples", NULL } },
	{ VERB_TAKES_CONFIG,
	  { "config", 0, FILE_NAME(config), "Read only the configuration in FILE, or none",
	    "FILE|none" } },
	{ VERB_TAKES_CHECK,
	  { "check", 0, FLAG(check), "Report errors in the named files, or in the configuration",
	    NULL } },
	{ VERB_TAKES_BUDGET,
	  { "rate", 0, TEXT(rate), "Limit the named disks to SIZE read and written per second",
	    "SIZE|none" } },
	{ VERB_TAKES_BUDGET,
	  { "iops", 0, TEXT(iops), "Limit the named disks to N requests per second", "N|none" } },
	{ VERB_TAKES_CONFIG_DIRECTORY,
	  { "config-dir", 0, FILE_NAME(config_directory),
	    "Look at and change the configuration in DIR", "DIR" } },
	{ VERB_TAKES_KEEP,
	  { "keep", 0, TEXT(keep), "Keep passes of the last TIME, as 90d or 26w (default: all)",
	    "TIME" } },
	{ VERB_TAKES_PLOT, { "plot", 0, FLAG(plot), "Draw what each pass freed and read", NULL } },
	{ VERB_TAKES_WAIT,
	  { "wait", 'w', FLAG(wait), "Wait until the pass has ended, and report its result",
	    NULL } },
	{ VERB_TAKES_WATCH,
	  { "watch", 'w', FLAG(watch), "Show what the service does until you end it", NULL } },
	{ VERB_TAKES_WATCH,
	  { "interval", 0, 0, G_OPTION_ARG_DOUBLE, AT(interval),
	    "With --watch, look how far passes are every so many seconds (default 1)",
	    "SECONDS" } },
	{ VERB_TAKES_LOG,
	  { "follow", 'f', FLAG(is_following), "Wait for new messages, and print them", NULL } },
	{ VERB_TAKES_LOG,
	  { "lines", 'n', COUNT(lines),
	    "Show the last N messages; 0: all (default: 100, with --since all)", "N" } },
	{ VERB_TAKES_LOG,
	  { "since", 0, TEXT(since),
	    "Show messages since TIME: a date, today, yesterday, or how long ago, as 2h",
	    "TIME" } },
	{ VERB_TAKES_LOG,
	  { "directory", 0, FILE_NAME(directory), "Read the journal in DIR", "DIR" } },
	{ VERB_TAKES_ESTIMATE,
	  { "full", 0, FLAG(full), "Read everything, where that takes reading files", NULL } },
	{ VERB_TAKES_ESTIMATE,
	  { "sample", 0, TEXT(sample),
	    "Read N percent there (default: 6.25, and all of less than 1 GiB)", "N%" } },
	{ VERB_TAKES_ESTIMATE,
	  { "exclude", 0, FILE_NAMES(excludes), "Exclude files that match GLOB, too", "GLOB" } },
	{ VERB_TAKES_ESTIMATE,
	  { "min-size", 0, TEXT(min_size), "Leave out smaller files", "SIZE" } },
	{ VERB_TAKES_ESTIMATE | VERB_TAKES_SAMPLE,
	  { "limit-rate", 0, TEXT(limit_rate), "Read SIZE per second at most", "SIZE" } },
	{ VERB_TAKES_ESTIMATE,
	  { "plot", 0, FLAG(plot), "Draw the space that blocks of each size would free", NULL } },
	{ VERB_TAKES_SAMPLE,
	  { "sample", 0, TEXT(sample),
	    "Verify N percent of the objects, chosen at random (default 1)", "N%" } },
	{ VERB_TAKES_DUPLICATES,
	  { "all", 0, FLAG(show_all), "Show also groups that would free nothing", NULL } },
	{ VERB_TAKES_DUPLICATES,
	  { "files", 0, FLAG(files), "Show groups of files that are equal as a whole (the default)",
	    NULL } },
	{ VERB_TAKES_DUPLICATES,
	  { "runs", 0, FLAG(runs),
	    "Show groups of equal parts of files (refused: stores do not know them)", NULL } },
	{ VERB_TAKES_DUPLICATES | VERB_TAKES_WASTE,
	  { "min", 0, TEXT(min_size), "Leave out smaller files", "SIZE" } },
	{ VERB_TAKES_DUPLICATES,
	  { "under", 0, FILE_NAME(under), "Compare only files below DIR with each other", "DIR" } },
	{ VERB_TAKES_DUPLICATES,
	  { "format", 0, TEXT(format), "Print a table, names as fdupes does, JSON or CSV",
	    "table|fdupes|json|csv" } },
	{ VERB_TAKES_DUPLICATES,
	  { "limit", 0, COUNT(limit),
	    "Print N groups; 0: all (of a table 100, unless this says otherwise)", "N" } },
	{ VERB_TAKES_DUPLICATES,
	  { "null", '0', FLAG(nul),
	    "Print names as they are, each ended by NUL, and an empty one after each group",
	    NULL } },
	{ VERB_TAKES_WASTE,
	  { "by", 0, TEXT(by), "Add up by this (default directory)",
	    "directory|owner|age|type|subvolume" } },
	{ VERB_TAKES_WASTE,
	  { "depth", 0, COUNT(depth), "Add up what lies more than N levels deep (default 1)",
	    "N" } },
	{ VERB_TAKES_WASTE,
	  { "limit", 0, COUNT(limit),
	    "Print N rows; 0: all (of a table 20, unless this says otherwise)", "N" } },
	{ VERB_TAKES_RUN,
	  { "dry-run", 0, FLAG(dry_run), "Find and report, but share nothing", NULL } },
	{ VERB_TAKES_RUN,
	  { "min-size", 0, TEXT(min_size), "Skip files smaller than SIZE", "SIZE" } },
	{ VERB_TAKES_RUN,
	  { "min-age", 0, TEXT(min_age), "Defer files written within TIME to a later pass",
	    "TIME" } },
	{ VERB_TAKES_RUN,
	  { "exclude", 0, FILE_NAMES(excludes), "Skip files that match GLOB (repeatable)",
	    "GLOB" } },
	{ VERB_TAKES_RUN,
	  { "run-for", 0, TEXT(run_for), "End a pass after TIME; the next one goes on", "TIME" } },
	{ VERB_TAKES_RUN,
	  { "changed", 0, FLAG(changed),
	    "Look only at changes since the last pass, and refuse a first one", NULL } },
	{ VERB_TAKES_RUN,
	  { "queue", 0, FLAG(queue),
	    "Wait for a pass that runs, or is about to, instead of failing", NULL } },
	{ VERB_TAKES_RUN,
	  { "files-from", 0, FILE_NAME(files_from),
	    "Read names of files or directories, one in a line, from FILE, or from standard "
	    "input (-)",
	    "FILE" } },
	{ VERB_TAKES_RUN,
	  { "null", '0', FLAG(nul), "With --files-from: names end with NUL", NULL } },
	{ VERB_TAKES_NULL,
	  { "null", '0', FLAG(nul), "Print only names, unescaped, each ended by NUL", NULL } },
	{ VERB_TAKES_REPLACE_KEY,
	  { "replace", 0, FLAG(replace), "Replace an existing key", NULL } },
	{ VERB_TAKES_ANCHORS,
	  { "anchors", 0, FILE_NAME(anchors),
	    "Write new anchors below DIR, for the comparison with other machines", "DIR" } },
	{ VERB_TAKES_REPLACE,
	  { "replace", 0, FLAG(replace), "Move an existing store aside", NULL } },
	{ VERB_TAKES_COMMAND,
	  { "why", 0, TEXT(why), "Give this reason to other users (default: the command's name)",
	    "TEXT" } },
	{ VERB_TAKES_DELETE,
	  { "delete", 0, FLAG(deletes),
	    "Show how much deleting these subvolumes together would free, without deleting them",
	    NULL } },
	{ VERB_TAKES_RESUME,
	  { "resume", 0, FLAG(resume), "End a pause first, instead of refusing", NULL } },
	{ VERB_TAKES_ALL,
	  { "all", 0, FLAG(all), "Take all filesystems that the service knows", NULL } },
};

void options_clear(Options *options)
{
	for (size_t i = 0; i < G_N_ELEMENTS(all_options); i++) {
		const GOptionEntry *entry = &all_options[i].entry;
		void *value = (char *)options + GPOINTER_TO_SIZE(entry->arg_data);

		if (entry->arg == G_OPTION_ARG_STRING || entry->arg == G_OPTION_ARG_FILENAME)
			g_clear_pointer((char **)value, g_free);
		else if (entry->arg == G_OPTION_ARG_FILENAME_ARRAY)
			g_clear_pointer((char ***)value, g_strfreev);
	}
	g_clear_pointer(&options->command, g_strfreev);
	g_clear_pointer(&options->names, g_strfreev);
}

bool options_are_for_programs(const Options *options)
{
	return options->json || options->columns || options->raw || options->no_headings;
}

/* Add the options that all verbs take, and those of @takes. */
static void add_entries(GOptionContext *context, Options *options, unsigned takes)
{
	for (size_t i = 0; i < G_N_ELEMENTS(all_options); i++) {
		GOptionEntry entries[] = { all_options[i].entry, { NULL } };

		if (all_options[i].takes != ANY && !(all_options[i].takes & takes))
			continue;
		entries[0].arg_data = (char *)options + GPOINTER_TO_SIZE(entries[0].arg_data);
		g_option_context_add_main_entries(context, entries, NULL);
	}
}

bool options_parse_common(Options *options, char ***arguments, const char *description,
			  GError **error)
{
	g_autoptr(GOptionContext) context = g_option_context_new("VERB [UUID|MOUNT…]");

	g_set_prgname(PROGRAM);
	g_option_context_set_summary(context, "Shows what dedupd did and what it remembers.");
	g_option_context_set_description(context, description);
	g_option_context_set_strict_posix(context, TRUE);
	add_entries(context, options, TAKES_VERSION);

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
	if (options->state_directory[0] == '\0')
		return usage_error_set(error, "--state-dir is empty: it takes a directory");
	for (char **name = options->names; name && *name; name++) {
		if (**name != '\0')
			continue;
		return usage_error_set(error,
				       "an empty name: give a file, a mount point or a UUID");
	}

	return true;
}

/* There is nothing else to say about bare names. */
static bool check_null(const Options *options, GError **error)
{
	if (!options->nul || options->files_from || (!options->json && !options->columns))
		return true;

	return usage_error_set(error, "-0 prints nothing but names: it does not go with %s",
			       options->json ? "--json" : "--output");
}

static bool check_count(const char *option, int count, GError **error)
{
	if (count >= 0 || count == COUNT_NOT_GIVEN)
		return true;

	return usage_error_set(error, "%s: %d is below 0", option, count);
}

/* Refuse combinations that contradict each other, or have no meaning. */
static bool check_together(const Options *options, const VerbUsage *usage, GError **error)
{
	if (options->full && options->sample)
		return usage_error_set(error,
				       "--full reads everything: it does not go with --sample");
	if (*usage->arguments == '\0' && options->names)
		return usage_error_set(error, "it takes no names: '%s'", options->names[0]);

	return true;
}

static bool take(const char *option, const char *text,
		 bool (*parse)(const char *text, uint64_t *ret, GError **error), uint64_t *ret,
		 GError **error)
{
	if (!text || parse(text, ret, error))
		return true;

	g_prefix_error(error, "%s: ", option);
	return false;
}

/* Parse "25%" or "6.25". */
static bool take_sample(Options *options, GError **error)
{
	char *end = options->sample;

	if (!options->sample)
		return true;
	options->sample_percent = g_ascii_strtod(options->sample, &end);
	if (end != options->sample && (*end == '\0' || strcmp(end, "%") == 0) &&
	    options->sample_percent > 0 && options->sample_percent <= 100)
		return true;

	return usage_error_set(error, "--sample is a percentage, from more than 0 to 100%%");
}

/* Parse the values that are numbers. */
static bool take_numbers(Options *options, const VerbUsage *usage, GError **error)
{
	bool has_min = usage->takes & (VERB_TAKES_DUPLICATES | VERB_TAKES_WASTE);
	uint64_t usec; /* the service parses these again */

	if (!take(has_min ? "--min" : "--min-size", options->min_size, size_parse,
		  &options->min_size_bytes, error) ||
	    !take("--limit-rate", options->limit_rate, size_parse, &options->limit_rate_bytes,
		  error) ||
	    !take("--min-age", options->min_age, duration_parse, &usec, error) ||
	    !take("--run-for", options->run_for, duration_parse, &usec, error) ||
	    !take("--keep", options->keep, duration_parse, &options->keep_usec, error) ||
	    !take_sample(options, error))
		return false;
	if (options->limit_rate && options->limit_rate_bytes == 0)
		return usage_error_set(error, "--limit-rate: nothing could be read");
	if (options->keep && (options->keep_usec == 0 || options->keep_usec >= INT64_MAX))
		return usage_error_set(error, "--keep: %s is not a time to keep passes for",
				       options->keep);
	return true;
}

static bool take_interval(Options *options, GError **error)
{
	if (!options->watch ||
	    (options->interval >= INTERVAL_LEAST && options->interval <= INTERVAL_MOST))
		return true;

	return usage_error_set(error, "--interval: %g is none: 0.1 to 3600 seconds",
			       options->interval);
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
	unsigned takes = usage->takes;

	options->interval = INTERVAL_USUAL;
	options->lines = options->depth = options->limit = COUNT_NOT_GIVEN;
	if (usage->columns)
		takes |= usage->takes & VERB_TAKES_LOG ? TAKES_TABLE : TAKES_TABLE | TAKES_HEADINGS;
	if (usage->takes & VERB_TAKES_COMMAND)
		take_command(options, *arguments);
	g_set_prgname(program);
	g_option_context_set_summary(context, usage->summary);
	g_option_context_set_description(context, usage->columns);
	add_entries(context, options, takes);
	g_option_context_add_main_entries(context, names, NULL);

	return g_option_context_parse_strv(context, arguments, error) &&
	       take_numbers(options, usage, error) && take_interval(options, error) &&
	       check_null(options, error) && check_count("--lines", options->lines, error) &&
	       check_count("--depth", options->depth, error) &&
	       check_count("--limit", options->limit, error) &&
	       check_together(options, usage, error) && check(options, error);
}
