/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings/options.h"

#include "common/config/policies.h"
#include "common/content/winnow.h"
#include "common/text/duration-text.h"
#include "common/text/name-text.h"
#include "common/text/size-text.h"
#include "common/text/state-directory.h"
#include "common/text/word-list.h"

#include <stdio.h>
#include <string.h>

/* A number that was not given. */
#define NO_NUMBER INT_MIN
#define GIVEN_NOTHING                                                                              \
	{                                                                                          \
		.max_compare = NO_NUMBER, .anchor_blocks = NO_NUMBER, .window_anchors = NO_NUMBER  \
	}

_Static_assert(SETTINGS_ANCHOR_BLOCKS_MAX == WINNOW_ANCHOR_BLOCKS_MAX &&
		       SETTINGS_WINDOW_ANCHORS_MAX == WINNOW_WINDOW_MAX,
	       "what may be asked for is what can be done");

/* Options as texts, before they are checked. */
typedef struct {
	char *state_directory;
	char *config;
	char *memory;
	char *min_size;
	char *min_run;
	char *store_limit;
	char *rate;
	char *zeros;
	char *find;
	char *read;
	char *read_only_snapshots;
	char *no_data_cow;
	char *compressed;
	char *rewrite;
	char *across_owners;
	char *changing;
	char *min_age;
	char *run_for;
	char *pressure;
	char *rotating;
	char *priority;
	int max_compare;
	int anchor_blocks;
	int window_anchors;
	int limit_iops;
	gboolean once, now, queue, dry_run, changed, rebuild, json, quiet, verbose, version;
} Given;

static void given_clear(Given *given)
{
	g_free(given->state_directory);
	g_free(given->config);
	g_free(given->memory);
	g_free(given->min_size);
	g_free(given->min_run);
	g_free(given->store_limit);
	g_free(given->rate);
	g_free(given->zeros);
	g_free(given->find);
	g_free(given->read);
	g_free(given->read_only_snapshots);
	g_free(given->no_data_cow);
	g_free(given->compressed);
	g_free(given->rewrite);
	g_free(given->across_owners);
	g_free(given->changing);
	g_free(given->min_age);
	g_free(given->run_for);
	g_free(given->pressure);
	g_free(given->rotating);
	g_free(given->priority);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Given, given_clear)

static void refuse(GError **error, const char *message)
{
	g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, message);
}

/* Parse a size of at least @least bytes, if it was given. */
static bool take_size(const char *option, const char *text, uint64_t least, uint64_t *ret,
		      GError **error)
{
	g_autofree char *least_text = size_text(least);

	if (!text)
		return true;
	if (!size_parse(text, ret, error)) {
		g_prefix_error(error, "%s: ", option);
		return false;
	}
	if (*ret < least) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "%s %s is too small: at least %s", option, text, least_text);
		return false;
	}

	return true;
}

static bool take_number(const char *option, int given, uint32_t least, uint32_t most, uint32_t *ret,
			GError **error)
{
	if (given == NO_NUMBER)
		return true;
	if (given < (int)least || given > (int)most) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "%s %d is out of range: %u to %u", option, given, least, most);
		return false;
	}

	*ret = (uint32_t)given;
	return true;
}

static bool take_requests(int given, uint64_t *ret, GError **error)
{
	if (given < 0) {
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			    "--limit-iops %d is no number of requests per second: 0 is no limit",
			    given);
		return false;
	}

	*ret = (uint64_t)given;
	return true;
}

static bool take_duration(const char *option, const char *text, uint64_t *ret_usec, GError **error)
{
	if (!text || duration_parse(text, ret_usec, error))
		return true;

	g_prefix_error(error, "%s: ", option);
	return false;
}

/* Find which of @names was given, if any was. */
static bool take_choice(const char *option, const char *text, const char *const *names,
			unsigned *ret, GError **error)
{
	g_autofree char *shown = NULL;
	g_autofree char *right = NULL;

	if (!text)
		return true;
	for (unsigned i = 0; names[i]; i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret = i;
			return true;
		}
	}

	shown = name_text(text, strlen(text));
	right = word_list_text(names);
	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s %s is unknown: %s", option,
		    shown, right);
	return false;
}

static bool take_policies(const Given *given, Settings *settings, GError **error)
{
	unsigned zeros = settings->zeros;
	unsigned find = settings->find;
	unsigned read = settings->read;
	unsigned snapshots = settings->read_only_snapshots;
	unsigned no_cow = settings->no_data_cow;
	unsigned compressed = settings->compressed;
	unsigned rewrite = settings->rewrite;
	unsigned owners = settings->across_owners;
	unsigned changing = settings->changing;
	unsigned pressure = PRESSURE_AUTO;
	unsigned rotating = ROTATING_AUTO;
	unsigned priority = settings->priority;

	if (!take_choice("--zeros", given->zeros, zeros_policy_names, &zeros, error) ||
	    !take_choice("--find", given->find, find_policy_names, &find, error) ||
	    !take_choice("--read", given->read, read_policy_names, &read, error) ||
	    !take_choice("--read-only-snapshots", given->read_only_snapshots, snapshot_policy_names,
			 &snapshots, error) ||
	    !take_choice("--no-data-cow", given->no_data_cow, no_cow_policy_names, &no_cow,
			 error) ||
	    !take_choice("--compressed", given->compressed, compressed_policy_names, &compressed,
			 error) ||
	    !take_choice("--rewrite", given->rewrite, rewrite_policy_names, &rewrite, error) ||
	    !take_choice("--across-owners", given->across_owners, owners_policy_names, &owners,
			 error) ||
	    !take_choice("--changing", given->changing, changing_policy_names, &changing, error) ||
	    !take_choice("--pressure", given->pressure, pressure_policy_names, &pressure, error) ||
	    !take_choice("--rotating", given->rotating, rotating_policy_names, &rotating, error) ||
	    !take_choice("--priority", given->priority, priority_policy_names, &priority, error))
		return false;

	settings->zeros = (ZerosPolicy)zeros;
	settings->find = (FindPolicy)find;
	settings->read = (ReadPolicy)read;
	settings->read_only_snapshots = (SnapshotPolicy)snapshots;
	settings->no_data_cow = (NoCowPolicy)no_cow;
	settings->compressed = (CompressedPolicy)compressed;
	settings->rewrite = (RewritePolicy)rewrite;
	settings->across_owners = (OwnersPolicy)owners;
	settings->changing = (ChangingPolicy)changing;
	settings->pressure = (PressurePolicy)pressure;
	settings->rotating = (RotatingPolicy)rotating;
	settings->priority = (PriorityPolicy)priority;
	return true;
}

static bool check(const Given *given, Settings *settings, GError **error)
{
	settings->once = given->once;
	settings->now = given->now;
	settings->queue = given->queue;
	settings->dry_run = given->dry_run;
	settings->only_changed = given->changed;
	settings->rebuild = given->rebuild;
	settings->json = given->json;
	settings->quiet = given->quiet;
	settings->verbose = given->verbose;

	if (!take_size("--memory", given->memory, SETTINGS_MEMORY_MIN_BYTES,
		       &settings->memory_bytes, error) ||
	    !take_size("--min-size", given->min_size, 0, &settings->min_size_bytes, error) ||
	    !take_size("--min-run", given->min_run, 0, &settings->min_run_bytes, error) ||
	    !take_size("--store-limit", given->store_limit, 0, &settings->store_limit_bytes,
		       error) ||
	    !take_size("--limit-rate", given->rate, 1, &settings->rate_bytes, error) ||
	    !take_duration("--min-age", given->min_age, &settings->min_age_usec, error) ||
	    !take_duration("--run-for", given->run_for, &settings->run_for_usec, error) ||
	    !take_requests(given->limit_iops, &settings->rate_requests, error) ||
	    !take_number("--max-compare", given->max_compare, 1, SETTINGS_MAX_COMPARE_MOST,
			 &settings->max_compare, error) ||
	    !take_number("--anchor-blocks", given->anchor_blocks, 1, WINNOW_ANCHOR_BLOCKS_MAX,
			 &settings->anchor_blocks, error) ||
	    !take_number("--window", given->window_anchors, 2, WINNOW_WINDOW_MAX,
			 &settings->window_anchors, error) ||
	    !take_policies(given, settings, error))
		return false;

	if (given->quiet && given->verbose) {
		refuse(error, "--quiet and --verbose exclude each other");
		return false;
	}
	if (!settings->once && (settings->paths || given->now || given->queue || given->json ||
				given->rebuild || given->changed)) {
		refuse(error, "a PATH, --now, --queue, --json, --changed and --rebuild go with "
			      "--once: without it "
			      "dedupd is a service, which works on what its configuration names");
		return false;
	}

	return true;
}

/* A given text replaces the present one. */
static void take_text(char **given, char **ret)
{
	if (!*given)
		return;

	g_free(*ret);
	*ret = g_steal_pointer(given);
}

static bool take_files(Given *given, Settings *settings, GError **error)
{
	take_text(&given->state_directory, &settings->state_directory);
	take_text(&given->config, &settings->config);
	if (!settings->state_directory)
		settings->state_directory = state_directory_default();
	if (!settings->state_directory[0]) {
		refuse(error, "--state-dir is empty");
		return false;
	}
	if (settings->config && !settings->config[0]) {
		refuse(error, "--config is empty: it takes a file, or none");
		return false;
	}

	return true;
}

static GOptionContext *context_new(const GOptionEntry *entries)
{
	GOptionContext *context = g_option_context_new("[PATH…]");

	g_option_context_set_summary(
		context, "Finds equal data on mounted btrfs and XFS filesystems and has the kernel "
			 "share it.");
	g_option_context_add_main_entries(context, entries, NULL);
	return context;
}

/* Options that bound the load on the machine. */
static void add_burden_entries(GOptionContext *context, Given *given)
{
	const GOptionEntry entries[] = {
		{ "store-limit", 0, 0, G_OPTION_ARG_STRING, &given->store_limit,
		  "Let a store become no larger than SIZE (default 64M and 1/128 of the "
		  "filesystem)",
		  "SIZE" },
		{ "limit-rate", 0, 0, G_OPTION_ARG_STRING, &given->rate,
		  "Have each disk read and write no more than SIZE per second", "SIZE" },
		{ "run-for", 0, 0, G_OPTION_ARG_STRING, &given->run_for,
		  "End after TIME; the next pass goes on", "TIME" },
		{ "queue", 0, 0, G_OPTION_ARG_NONE, &given->queue,
		  "Wait for another process that works on a filesystem, or holds it", NULL },
		{ "limit-iops", 0, 0, G_OPTION_ARG_INT, &given->limit_iops,
		  "Ask each disk for no more than N requests per second", "N" },
		{ "pressure", 0, 0, G_OPTION_ARG_STRING, &given->pressure,
		  "Whether to make way for others that use the disks (default auto)",
		  "auto|on|off" },
		{ "rotating", 0, 0, G_OPTION_ARG_STRING, &given->rotating,
		  "Whether the disks rotate, so that one pass at a time works on each (default "
		  "auto)",
		  "auto|yes|no" },
		{ "priority", 0, 0, G_OPTION_ARG_STRING, &given->priority,
		  "Who comes first on the processor and the disks (default normal)",
		  "normal|idle" },
		{ NULL }
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

bool options_parse(char ***arguments, Settings *settings, bool *ret_done, GError **error)
{
	g_auto(Given) given = GIVEN_NOTHING;
	const GOptionEntry entries[] = {
		{ "once", 0, 0, G_OPTION_ARG_NONE, &given.once,
		  "Make one pass over the filesystems of the paths, then end", NULL },
		{ "dry-run", 0, 0, G_OPTION_ARG_NONE, &given.dry_run,
		  "Find and report, but share nothing", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &given.json,
		  "Print the report as JSON on standard output", NULL },
		{ "now", 0, 0, G_OPTION_ARG_NONE, &given.now,
		  "Begin outside of Window=, too, and do not end with it", NULL },
		{ "changed", 0, 0, G_OPTION_ARG_NONE, &given.changed,
		  "Go by what changed since the last pass, and make no first one", NULL },
		{ "config", 0, 0, G_OPTION_ARG_FILENAME, &given.config,
		  "Read the configuration in FILE alone, or none", "FILE|none" },
		{ "state-dir", 0, 0, G_OPTION_ARG_FILENAME, &given.state_directory,
		  "Keep the hash stores in DIR", "DIR" },
		{ "memory", 0, 0, G_OPTION_ARG_STRING, &given.memory,
		  "Sort within SIZE of memory (default 64M)", "SIZE" },
		{ "min-size", 0, 0, G_OPTION_ARG_STRING, &given.min_size,
		  "Leave files below SIZE alone (default where read: 2K on btrfs, 1 on XFS)",
		  "SIZE" },
		{ "min-run", 0, 0, G_OPTION_ARG_STRING, &given.min_run,
		  "On btrfs, have each piece more of a file free SIZE (default 64K)", "SIZE" },
		{ "max-compare", 0, 0, G_OPTION_ARG_INT, &given.max_compare,
		  "On btrfs, compare FACTOR bytes per byte freed (default 16, rotating 4)",
		  "FACTOR" },
		{ "exclude", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &settings->excludes,
		  "Leave alone what matches GLOB (repeatable)", "GLOB" },
		{ "zeros", 0, 0, G_OPTION_ARG_STRING, &given.zeros,
		  "What becomes of zero blocks (default auto)", "auto|hole|keep|share" },
		{ "find", 0, 0, G_OPTION_ARG_STRING, &given.find,
		  "How equal data is found on btrfs (default auto)", "auto|checksums|read" },
		{ "read", 0, 0, G_OPTION_ARG_STRING, &given.read,
		  "Which files are read to find equal data (default all)", "all|same-size" },
		{ "read-only-snapshots", 0, 0, G_OPTION_ARG_STRING, &given.read_only_snapshots,
		  "What becomes of read-only snapshots (default auto)",
		  "auto|share|writable|source|skip" },
		{ "no-data-cow", 0, 0, G_OPTION_ARG_STRING, &given.no_data_cow,
		  "What becomes of nodatacow files on btrfs (default skip)", "skip|share" },
		{ "compressed", 0, 0, G_OPTION_ARG_STRING, &given.compressed,
		  "How equal compressed data is found by checksums (default sums)", "sums|read" },
		{ "rewrite", 0, 0, G_OPTION_ARG_STRING, &given.rewrite,
		  "Whether small rests of extents are copied on btrfs (default auto)",
		  "auto|never" },
		{ "across-owners", 0, 0, G_OPTION_ARG_STRING, &given.across_owners,
		  "Whether files of different owners share data (default yes)", "yes|no" },
		{ "min-age", 0, 0, G_OPTION_ARG_STRING, &given.min_age,
		  "Leave files written to within TIME for a later pass", "TIME" },
		{ "changing", 0, 0, G_OPTION_ARG_STRING, &given.changing,
		  "Whether what always changes is read rarely (default wait)", "wait|read" },
		{ "anchor-blocks", 0, 0, G_OPTION_ARG_INT, &given.anchor_blocks,
		  "Blocks in an anchor (of a new store 4 on btrfs, 2 on XFS)", "N" },
		{ "window", 0, 0, G_OPTION_ARG_INT, &given.window_anchors,
		  "Positions of which one is an anchor (of a new store 16, 8)", "N" },
		{ "rebuild", 0, 0, G_OPTION_ARG_NONE, &given.rebuild,
		  "Move an existing store aside and begin a new one", NULL },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &given.quiet,
		  "Show neither progress nor the report for people", NULL },
		{ "verbose", 'v', 0, G_OPTION_ARG_NONE, &given.verbose,
		  "Name examples of what was left alone", NULL },
		{ "version", 0, 0, G_OPTION_ARG_NONE, &given.version, "Print the version", NULL },
		{ G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &settings->paths, NULL,
		  NULL },
		{ NULL }
	};
	g_autoptr(GOptionContext) context = context_new(entries);

	add_burden_entries(context, &given);
	if (!g_option_context_parse_strv(context, arguments, error))
		return false;

	*ret_done = given.version;
	if (given.version) {
		puts("dedupd " DEDUPD_VERSION);
		return true;
	}

	return check(&given, settings, error) && take_files(&given, settings, error);
}
