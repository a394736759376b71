/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/mounted-name.h"
#include "cli/estimate/estimate-table.h"
#include "cli/snapshots/subvolume-table.h"
#include "cli/stores/duplicate-printer.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pager.h"
#include "cli/verbs/verb.h"
#include "common/text/word-list.h"

#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Verb verbs[] = {
	{ "status", "[UUID|MOUNT…]",
	  "Show running passes, their progress, space freed, the next passes, and problems",
	  VERB_TAKES_CONFIG | VERB_TAKES_VERBOSE | VERB_TAKES_WATCH, &table_of_status,
	  verb_status },
	{ "history", "[UUID|MOUNT…]", "Show each pass over each filesystem, newest first",
	  VERB_TAKES_PLOT, &table_of_history, verb_history },
	{ "config", "[UUID|MOUNT|DISK…]", "Show what is configured, and where, or check it",
	  VERB_TAKES_CONFIG | VERB_TAKES_CHECK, &table_of_config, verb_config },
	{ "enable", "UUID|MOUNT [KEY=VALUE…]", "Enable the deduplication of a filesystem",
	  VERB_TAKES_CONFIG_DIRECTORY, NULL, verb_enable },
	{ "disable", "UUID|MOUNT", "Disable the deduplication of a filesystem",
	  VERB_TAKES_CONFIG_DIRECTORY, NULL, verb_disable },
	{ "list", "[UUID|MOUNT…]",
	  "Show mounted btrfs and XFS filesystems, their disks, and their state in the service",
	  VERB_TAKES_CONFIG, &table_of_list, verb_list },
	{ "log", "[UUID|MOUNT…]", "Show the messages of dedupd in the journal", VERB_TAKES_LOG,
	  &table_of_log, verb_log },
	{ "metrics", "", "Print metrics for Prometheus, from the stores and from the service", 0,
	  NULL, verb_metrics },
	{ "duplicates", "[DIRECTORY]",
	  "Show groups of equal files, beginning with those that waste most", VERB_TAKES_DUPLICATES,
	  &table_of_duplicates, verb_duplicates },
	{ "waste", "[DIRECTORY|UUID…]",
	  "Show in which places equal files take space that deduplication would free",
	  VERB_TAKES_WASTE, &table_of_waste, verb_waste },
	{ "file", "FILE…",
	  "Show the location of a file's data, its shared data, and its duplicates",
	  VERB_TAKES_NULL, &table_of_file, verb_file },
	{ "shared", "FILE FILE", "Show how much data two files share on the disk", 0,
	  &table_of_shared, verb_shared },
	{ "snapshots", "[UUID|MOUNT|SUBVOLUME…]",
	  "Show the size of btrfs subvolumes and snapshots, and how much deleting them would free",
	  VERB_TAKES_DELETE, &table_of_snapshots, verb_snapshots },
	{ "doctor", "[PATH|UUID…]",
	  "Check whether dedupd can work here, and what prevents it from working well",
	  VERB_TAKES_CONFIG, &table_of_doctor, verb_doctor },
	{ "estimate", "[DIRECTORY…]",
	  "Estimate how much space a pass would free, and at what cost, without changing anything",
	  VERB_TAKES_CONFIG | VERB_TAKES_ESTIMATE, &table_of_estimate, verb_estimate },
	{ "store size", "[UUID|MOUNT…]", "Show the size of stores on the disk, part by part", 0,
	  &table_of_store_size, verb_store_size },
	{ "store check", "[UUID|MOUNT…]", "Check whether stores are sound, without changing them",
	  0, &table_of_store_check, verb_store_check },
	{ "store prune", "[UUID|MOUNT…]", "Drop deleted files and old passes from stores",
	  VERB_TAKES_KEEP, &table_of_store_prune, verb_store_prune },
	{ "store vacuum", "[UUID|MOUNT…]", "Shrink the files of stores to their smallest size", 0,
	  &table_of_store_vacuum, verb_store_vacuum },
	{ "export", "[UUID|MOUNT…]", "Print the fingerprints in stores as lines of JSON",
	  VERB_TAKES_ANCHORS, NULL, verb_export },
	{ "import", "[FILE]", "Make stores from the output of 'export'", VERB_TAKES_REPLACE, NULL,
	  verb_import },
	{ "fleet-key", "[FILE]", "Make the key that the stores of several machines share",
	  VERB_TAKES_REPLACE_KEY, NULL, verb_fleet_key },
	{ "unique", "DIRECTORY…", "List the files below directories whose data is nowhere else",
	  VERB_TAKES_NULL, &table_of_unique, verb_unique },
	{ "why", "FILE…", "Explain why files were not deduplicated, with the evidence",
	  VERB_TAKES_CONFIG, &table_of_why, verb_why },
	{ "verify", "[UUID|MOUNT…]",
	  "Check whether the records in stores still match the filesystem", VERB_TAKES_SAMPLE,
	  &table_of_verify, verb_verify },
	{ "start", "UUID|MOUNT…", "Begin a pass now, also outside of windows",
	  VERB_TAKES_WAIT | VERB_TAKES_RESUME, NULL, verb_start },
	{ "run", "[PATH…]", "Deduplicate directories or files now, and wait for the end",
	  VERB_TAKES_RUN | VERB_TAKES_RESUME, NULL, verb_run },
	{ "stop", "UUID|MOUNT…", "End the pass; the next one begins at its usual time", 0, NULL,
	  verb_stop },
	{ "pause", "UUID|MOUNT… [TIME]", "End the pass, and begin none for TIME, or until 'resume'",
	  VERB_TAKES_ALL, NULL, verb_pause },
	{ "resume", "UUID|MOUNT…", "End a pause", VERB_TAKES_ALL, NULL, verb_resume },
	{ "hold", "UUID|MOUNT… -- COMMAND…", "Run a command, and prevent passes while it runs",
	  VERB_TAKES_COMMAND, NULL, verb_hold },
	{ "forget", "UUID|MOUNT…", "Drop the records of a filesystem", 0, NULL, verb_forget },
	{ "budget", "[DISK…]", "Show or set the limits of disks per second", VERB_TAKES_BUDGET,
	  &table_of_budget, verb_budget },
	{ "reload", "", "Make the service reload its configuration", 0, NULL, verb_reload },
};

static char *verbs_text(void)
{
	GString *list = g_string_new("Verbs:\n");

	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		g_string_append_printf(list, "  %-26s %s\n", verbs[i].name, verbs[i].summary);
	g_string_append(list, "\n'dedupctl VERB --help' shows the options of a verb.\n");
	return g_string_free(list, FALSE);
}

/* The verb at the beginning of @words, which end with NULL; *ret_n is its number of words. */
static const Verb *verb_find(char **words, size_t *ret_n)
{
	g_autofree char *two = words[1] ? g_strconcat(words[0], " ", words[1], NULL) : NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
		bool is_one = strcmp(verbs[i].name, words[0]) == 0;

		if (!is_one && g_strcmp0(verbs[i].name, two) != 0)
			continue;
		*ret_n = is_one ? 1 : 2;
		return &verbs[i];
	}
	return NULL;
}

/* The words that may follow @word, separated by commas; NULL: none. */
static char *words_after(const char *word)
{
	g_autofree char *beginning = g_strconcat(word, " ", NULL);
	GString *list = g_string_new(NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		if (g_str_has_prefix(verbs[i].name, beginning))
			g_string_append_printf(list, "%s'%s'", list->len > 0 ? ", " : "",
					       verbs[i].name);
	return g_string_free(list, list->len == 0);
}

static void say_unknown(const char *name)
{
	g_autofree char *longer = words_after(name);
	const char *names[G_N_ELEMENTS(verbs)];

	if (longer) {
		message_print("'%s' takes another word: %s", name, longer);
		return;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		names[i] = verbs[i].name;

	const char *nearest = nearest_word(name, names, G_N_ELEMENTS(names));
	if (nearest)
		message_print("unknown verb '%s': did you mean '%s'?", name, nearest);
	else
		message_print("unknown verb '%s': 'dedupctl --help' lists the verbs", name);
}

/*
 * Replace devices and tags with their filesystems, if the verb takes filesystems.  Disks have names of their
 * own.
 */
static void replace_names(const Verb *verb, Options *options)
{
	bool takes_uuids = strstr(verb->arguments, "UUID");

	if (takes_uuids && !strstr(verb->arguments, "DISK"))
		mounted_names_replace(options->names, false);
	else if (strstr(verb->arguments, "PATH") || strstr(verb->arguments, "DIRECTORY"))
		mounted_names_replace(options->names, true);
}

/* Output that continues by itself is not paged. */
static bool wants_pager(const Verb *verb, const Options *options)
{
	return verb->table && !options->no_pager && !options->watch && !options->is_following;
}

static ExitStatus run(char ***arguments)
{
	g_autofree char *list = verbs_text();
	g_autoptr(GError) error = NULL;
	g_auto(Options) options = { 0 };

	if (!options_parse_common(&options, arguments, list, &error)) {
		message_print_error(error);
		return EXIT_STATUS_USAGE;
	}
	if (options.version) {
		puts("dedupctl " DEDUPD_VERSION);
		return EXIT_STATUS_DONE;
	}

	const char *name = (*arguments)[0] ? (*arguments)[1] : NULL;
	if (!name)
		return message_fail(EXIT_STATUS_USAGE,
				    "no verb: 'dedupctl status' shows all filesystems, "
				    "'dedupctl --help' lists the verbs");

	size_t n_words;
	const Verb *verb = verb_find(*arguments + 1, &n_words);
	if (!verb) {
		say_unknown(name);
		return EXIT_STATUS_USAGE;
	}

	g_auto(GStrv) rest = g_strdupv(*arguments + n_words);
	g_free(rest[0]);
	rest[0] = g_strdup(verb->name);
	g_autofree char *columns = verb->table ? table_kind_text(verb->table) : NULL;
	const VerbUsage usage = { verb->summary, verb->arguments, columns, verb->takes };
	if (!options_parse_verb(&options, &rest, &usage, &error) ||
	    (verb->table && !table_kind_has(verb->table, &options, &error)))
		return message_fail(EXIT_STATUS_USAGE, "%s: %s", verb->name, error->message);

	replace_names(verb, &options);
	Pager *pager = wants_pager(verb, &options) ? pager_start() : NULL;
	ExitStatus status = verb->run(&options);
	pager_finish(pager);
	return status;
}

/* A full disk or a closed pipe must not look like an answer. */
static void check_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;

	message_print("cannot write to standard output: %s", g_strerror(errno));
	_exit(EXIT_STATUS_FAILED);
}

int main(int argc, char **argv)
{
	g_auto(GStrv) arguments = g_strdupv(argv);

	setlocale(LC_ALL, "");
	/* Without memory the program ends, rather than print half a document. */
	json_set_alloc_funcs(g_malloc, g_free);
	/* GLib ends the process after --help. */
	atexit(check_output);
	return (int)run(&arguments);
}
