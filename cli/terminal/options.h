/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Options - the command line of dedupctl, checked.
 *
 * Common options may precede or follow the verb.  Options of one verb follow it.
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
	VERB_TAKES_DUPLICATES = 1 << 8, /* options of 'duplicates' alone */
	VERB_TAKES_WAIT = 1 << 9,
	VERB_TAKES_WASTE = 1 << 10,    /* --by, --depth, --min and --limit */
	VERB_TAKES_RUN = 1 << 11,      /* options of 'run' alone, --min-size, --exclude and -0 */
	VERB_TAKES_NULL = 1 << 12,     /* -0, for a verb that lists files */
	VERB_TAKES_WATCH = 1 << 13,    /* --watch and --interval */
	VERB_TAKES_LOG = 1 << 14,      /* options of 'log' alone */
	VERB_TAKES_ESTIMATE = 1 << 15, /* options of 'estimate' alone */
	VERB_TAKES_REPLACE = 1 << 16,
	VERB_TAKES_COMMAND = 1 << 17, /* --why, and a command after "--" */
	VERB_TAKES_DELETE = 1 << 18,
	VERB_TAKES_RESUME = 1 << 19,
	VERB_TAKES_ANCHORS = 1 << 20,
	VERB_TAKES_REPLACE_KEY = 1 << 21,
	VERB_TAKES_ALL = 1 << 22,
} VerbOptions;

/* The options and arguments of a verb, and its help. */
typedef struct {
	const char *summary;   /* the beginning of --help */
	const char *arguments; /* after the options: "FILE…"; "": none */
	const char *columns;   /* the end of --help, if the verb prints a table; else NULL */
	VerbOptions takes;
} VerbUsage;

/* Strings are as typed, or NULL if not given. */
typedef struct {
	char *state_directory; /* always set */
	bool state_directory_is_given;
	char *config;           /* a file, or "none"; NULL: the system's */
	char *config_directory; /* NULL: the system's */
	char *rate;
	char *iops;
	gboolean check;
	gboolean json;
	gboolean bytes;
	char *columns; /* separated by commas; NULL: the default columns */
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
	uint64_t keep_usec; /* parsed @keep; 0: for ever */
	char *sample;
	double sample_percent; /* parsed @sample, above 0 and at most 100; 0: not given */
	char *limit_rate;
	uint64_t limit_rate_bytes; /* parsed @limit_rate, above 0; 0: not given */
	char *min_size;
	uint64_t min_size_bytes; /* parsed @min_size; 0: not given */
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
	char *anchors; /* the directory to write them into; NULL: not given */
	gboolean deletes;
	gboolean resume;
	gboolean all;
	char *why;
	char **command; /* after "--", NULL-terminated; NULL: there is no "--" */
	gboolean version;
	char **names; /* UUIDs, mount points or files; NULL-terminated, may be NULL: all */
} Options;

void options_clear(Options *options);

/* Whether a program, or a user who chose its format, reads the table.  The verb then prints nothing else. */
bool options_are_for_programs(const Options *options);

/*
 * Take the options before the verb from *@arguments, which begins with a program name.  The program name, the
 * verb and its arguments stay.  @description is the end of --help, which prints the help and ends the process.
 */
bool options_parse_common(Options *options, char ***arguments, const char *description,
			  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Take all options and names after a verb.  *@arguments begins with the verb. */
bool options_parse_verb(Options *options, char ***arguments, const VerbUsage *usage, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)
