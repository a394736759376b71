/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Options - the command line of dedupctl, checked.
 *
 * Options stand before the verb or behind it; those of one verb stand behind it.
 *
 * Thread: main.
 */
typedef enum {
	VERB_TAKES_VERBOSE = 1 << 0,
	VERB_TAKES_CONFIG = 1 << 1,
	VERB_TAKES_CHECK = 1 << 2,
	VERB_TAKES_BUDGET = 1 << 3, /* --rate and --iops */
	VERB_TAKES_CONFIG_DIRECTORY = 1 << 4,
	VERB_TAKES_KEEP = 1 << 5,
	VERB_TAKES_PLOT = 1 << 6,
	VERB_TAKES_SAMPLE = 1 << 7,     /* --sample and --limit-rate */
	VERB_TAKES_DUPLICATES = 1 << 8, /* those of 'duplicates' alone */
	VERB_TAKES_WAIT = 1 << 9,
	VERB_TAKES_WASTE = 1 << 10,    /* --by, --depth, --min and --limit */
	VERB_TAKES_RUN = 1 << 11,      /* those of 'run' alone, --min-size, --exclude and -0 */
	VERB_TAKES_NULL = 1 << 12,     /* -0, of a verb that lists files */
	VERB_TAKES_WATCH = 1 << 13,    /* --watch and --interval */
	VERB_TAKES_LOG = 1 << 14,      /* those of 'log' alone */
	VERB_TAKES_ESTIMATE = 1 << 15, /* those of 'estimate' alone */
	VERB_TAKES_REPLACE = 1 << 16,
	VERB_TAKES_COMMAND = 1 << 17, /* --why, and a command behind "--" */
	VERB_TAKES_DELETE = 1 << 18,
	VERB_TAKES_RESUME = 1 << 19,
	VERB_TAKES_ALL = 1 << 20,
} VerbOptions;

/* What a verb takes, and says of that. */
typedef struct {
	const char *summary;   /* the beginning of --help */
	const char *arguments; /* behind the options: "FILE…"; "": none are meant */
	const char *columns;   /* the end of --help, of a verb that prints a table; else NULL */
	VerbOptions takes;
} VerbUsage;

/* Strings are as typed, and NULL when not given. */
typedef struct {
	char *state_directory; /* set in any case */
	bool state_directory_is_given;
	char *config;           /* a file, or "none"; NULL: that of the system */
	char *config_directory; /* NULL: that of the system */
	char *rate;
	char *iops;
	gboolean check;
	gboolean json;
	gboolean bytes;
	char *columns; /* by commas; NULL: those that are shown by themselves */
	gboolean raw;
	gboolean no_headings;
	gboolean no_pager;
	gboolean verbose;
	gboolean plot;
	gboolean wait;
	gboolean watch;
	double interval; /* seconds */
	gboolean is_following;
	int lines; /* below 0: not given */
	char *since;
	char *directory;
	char *keep;
	uint64_t keep_usec; /* what that says; 0: for ever */
	char *sample;
	char *limit_rate;
	char *min_size;
	char *under;
	char *format;
	char *by;
	gboolean dry_run;
	char *min_age;
	char *run_for;
	char *files_from;
	gboolean queue;
	gboolean changed;
	char **excludes; /* globs, NULL-terminated */
	int depth;       /* below 0: not given */
	int limit;       /* below 0: not given */
	gboolean nul;
	gboolean files;
	gboolean show_all;
	gboolean runs;
	gboolean full;
	gboolean replace;
	gboolean deletes;
	gboolean resume;
	gboolean all;
	char *why;
	char **command; /* behind "--", NULL-terminated; NULL: there is no "--" */
	gboolean version;
	char **names; /* UUIDs, mount points or files; NULL-terminated, may be NULL: all */
} Options;

void options_clear(Options *options);

/* Whether programs read the table, or people who say what they want of it: then it stands alone. */
bool options_are_for_programs(const Options *options);

/*
 * Take the options before the verb from *@arguments, a program name and what follows it; leaves the
 * program name, the verb and what follows that.  @description is the end of --help, which is printed
 * and ends the process when asked for.
 */
bool options_parse_common(Options *options, char ***arguments, const char *description,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Take all options and names that follow a verb; *@arguments begins with the verb. */
bool options_parse_verb(Options *options, char ***arguments, const VerbUsage *usage, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)
