/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings/options.h"

#include "common/config/config-value.h"
#include "common/config/policies.h"
#include "common/content/winnow.h"
#include "common/text/state-directory.h"
#include "common/text/usage-error.h"

#include <stdio.h>
#include <string.h>

_Static_assert(SETTINGS_ANCHOR_BLOCKS_MAX == WINNOW_ANCHOR_BLOCKS_MAX &&
		       SETTINGS_WINDOW_ANCHORS_MAX == WINNOW_WINDOW_MAX,
	       "the largest settings must be possible");

/* Options with values that the configuration does not have. */
static const ConfigKey own_keys[] = {
	{
		.option = "limit-iops",
		.type = CONFIG_NUMBER,
		.standard = "0",
		.form = "a number: 0 is no limit",
		.most = INT32_MAX,
		.help = "Requests that a pass may make to each disk per second; 0 is no limit.",
		.offset = offsetof(Settings, rate_requests),
	},
	{
		.option = "priority",
		.type = CONFIG_CHOICE,
		.standard = "normal",
		.words = priority_policy_names,
		.help = "Priority of a pass on the processor and the disks.",
		.offset = offsetof(Settings, priority),
	},
};

/* An option that has a key. */
typedef struct {
	const ConfigKey *key;
	char *kind; /* of the values, as --help names it */
	char *help;
	char *given; /* the value as text; NULL: the option was not given */
} KeyOption;

static void key_option_free(void *data)
{
	KeyOption *option = data;

	g_free(option->kind);
	g_free(option->help);
	g_free(option->given);
	g_free(option);
}

static char *kind_text(const ConfigKey *key)
{
	const char *kind = key->type == CONFIG_BYTES      ? "SIZE"
			   : key->type == CONFIG_DURATION ? "TIME"
							  : "N";

	if (key->words)
		return g_strjoinv("|", (char **)key->words);
	return g_strconcat(key->word ? key->word : "", key->word ? "|" : "", kind, NULL);
}

/* Add those of the @n @keys that have an option to @context and to @options. */
static void add_keys(const ConfigKey *keys, size_t n, GPtrArray *options, GOptionContext *context)
{
	for (const ConfigKey *key = keys; key < keys + n; key++) {
		KeyOption *option;

		if (!key->option)
			continue;
		option = g_new0(KeyOption, 1);
		option->key = key;
		option->kind = kind_text(key);
		option->help = g_strdup_printf("%.*s (default %s)", (int)strlen(key->help) - 1,
					       key->help, key->standard);
		g_ptr_array_add(options, option);

		const GOptionEntry entries[] = { { key->option, 0, 0, G_OPTION_ARG_STRING,
						   &option->given, option->help, option->kind },
						 { NULL } };
		g_option_context_add_main_entries(context, entries, NULL);
	}
}

/* Take the values of @options that were given. */
static bool take_values(const GPtrArray *options, Settings *settings, GError **error)
{
	DiskSettings disk = { 0 };

	for (guint i = 0; i < options->len; i++) {
		const KeyOption *option = options->pdata[i];
		bool is_of_disk = config_key_is_of_disk(option->key);

		if (!option->given ||
		    config_value_set(option->key, option->given,
				     is_of_disk ? (void *)&disk : settings, error))
			continue;
		g_prefix_error(error, "--%s: ", option->key->option);
		return false;
	}

	settings->pressure = disk.pressure;
	settings->rotating = disk.rotating;
	return true;
}

static bool check(const Settings *settings, GError **error)
{
	if (settings->quiet && settings->verbose)
		return usage_error_set(error, "--quiet and --verbose exclude each other");
	if (!settings->once && (settings->paths || settings->now || settings->queue ||
				settings->json || settings->rebuild || settings->only_changed))
		return usage_error_set(
			error, "a PATH, --now, --queue, --json, --changed and --rebuild go "
			       "with --once: without it dedupd is a service, which works on "
			       "what its configuration names");
	if (!settings->state_directory[0])
		return usage_error_set(error, "--state-dir is empty");
	if (settings->config && !settings->config[0])
		return usage_error_set(error, "--config is empty: it takes a file, or none");

	return true;
}

bool options_parse(char ***arguments, Settings *settings, bool *ret_done, GError **error)
{
	g_autofree char *state_directory = NULL;
	gboolean version = FALSE;
	const GOptionEntry entries[] = {
		{ "once", 0, 0, G_OPTION_ARG_NONE, &settings->once,
		  "Make one pass over the filesystems of the paths, then end", NULL },
		{ "dry-run", 0, 0, G_OPTION_ARG_NONE, &settings->dry_run,
		  "Find and report, but share nothing", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &settings->json,
		  "Print the report as JSON on standard output", NULL },
		{ "now", 0, 0, G_OPTION_ARG_NONE, &settings->now,
		  "Begin outside of Window=, too, and do not end with it", NULL },
		{ "changed", 0, 0, G_OPTION_ARG_NONE, &settings->only_changed,
		  "Look only at changes since the last pass, and refuse a first one", NULL },
		{ "queue", 0, 0, G_OPTION_ARG_NONE, &settings->queue,
		  "Wait for another process that works on a filesystem, or holds it", NULL },
		{ "config", 0, 0, G_OPTION_ARG_FILENAME, &settings->config,
		  "Read only the configuration in FILE, or none", "FILE|none" },
		{ "state-dir", 0, 0, G_OPTION_ARG_FILENAME, &state_directory,
		  "Keep the hash stores in DIR", "DIR" },
		{ "exclude", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &settings->excludes,
		  "Skip files that match GLOB (repeatable)", "GLOB" },
		{ "rebuild", 0, 0, G_OPTION_ARG_NONE, &settings->rebuild,
		  "Move an existing store aside and begin a new one", NULL },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &settings->quiet,
		  "Show neither progress nor the report for people", NULL },
		{ "verbose", 'v', 0, G_OPTION_ARG_NONE, &settings->verbose,
		  "Name examples of skipped files", NULL },
		{ "version", 0, 0, G_OPTION_ARG_NONE, &version, "Print the version", NULL },
		{ G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &settings->paths, NULL,
		  NULL },
		{ NULL }
	};
	g_autoptr(GPtrArray) options = g_ptr_array_new_with_free_func(key_option_free);
	g_autoptr(GOptionContext) context = g_option_context_new("[PATH…]");
	size_t n;
	const ConfigKey *keys = config_keys(&n);

	g_option_context_add_main_entries(context, entries, NULL);
	add_keys(keys, n, options, context);
	add_keys(own_keys, G_N_ELEMENTS(own_keys), options, context);
	g_option_context_set_summary(
		context,
		"Finds equal data on mounted btrfs and XFS filesystems and deduplicates it.");
	if (!g_option_context_parse_strv(context, arguments, error))
		return false;

	*ret_done = version;
	if (version) {
		puts("dedupd " DEDUPD_VERSION);
		return true;
	}

	if (state_directory) {
		g_free(settings->state_directory);
		settings->state_directory = g_steal_pointer(&state_directory);
	} else if (!settings->state_directory) {
		settings->state_directory = state_directory_default();
	}
	return take_values(options, settings, error) && check(settings, error);
}
