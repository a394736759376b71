/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/message.h"
#include "cli/verb.h"
#include "daemon/nearest-word.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static const Verb verbs[] = {
	{ "status", "Show each filesystem: its last pass, what was freed, what was left alone",
	  VERB_TAKES_VERBOSE, &table_of_status, verb_status },
	{ "history", "Show each pass over each filesystem, newest first", 0, &table_of_history,
	  verb_history },
	{ "config", "Show what is configured, and where, or check it", VERB_TAKES_CONFIG,
	  &table_of_config, verb_config },
	{ "enable", "Have a filesystem worked on: UUID|MOUNT [KEY=VALUE…]",
	  VERB_TAKES_CONFIG_DIRECTORY, NULL, verb_enable },
	{ "disable", "Have a filesystem left alone", VERB_TAKES_CONFIG_DIRECTORY, NULL,
	  verb_disable },
	{ "list", "Show the filesystems that the service knows, and what it does with them", 0,
	  &table_of_list, verb_list },
	{ "file", "Show where a file lies, what it shares, and what equals it", VERB_TAKES_FILES,
	  &table_of_file, verb_file },
	{ "shared", "Say how much of two files is the same data on the disk", VERB_TAKES_FILES,
	  &table_of_shared, verb_shared },
	{ "doctor", "Look whether dedupd can work here, and what keeps it from working well", 0,
	  &table_of_doctor, verb_doctor },
	{ "start", "Begin a pass now, whatever the windows", 0, NULL, verb_start },
	{ "stop", "End the pass and leave the filesystem alone until its next time", 0, NULL,
	  verb_stop },
	{ "pause", "End the pass, and begin none until 'resume'", 0, NULL, verb_pause },
	{ "resume", "Go on after 'pause'", 0, NULL, verb_resume },
	{ "forget", "Drop what is remembered of a filesystem", 0, NULL, verb_forget },
	{ "budget", "Show what disks may be asked for per second, or set it", VERB_TAKES_BUDGET,
	  &table_of_budget, verb_budget },
	{ "reload", "Have the service read its configuration anew", 0, NULL, verb_reload },
};

static char *verbs_text(void)
{
	GString *list = g_string_new("Verbs:\n");

	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		g_string_append_printf(list, "  %-26s %s\n", verbs[i].name, verbs[i].summary);
	g_string_append(list, "\n'dedupctl VERB --help' shows the options of a verb.\n");
	return g_string_free(list, FALSE);
}

static const Verb *verb_find(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static void say_unknown(const char *name)
{
	const char *names[G_N_ELEMENTS(verbs)];

	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
		names[i] = verbs[i].name;

	const char *nearest = nearest_word(name, names, G_N_ELEMENTS(names));
	if (nearest)
		message_print("unknown verb '%s': did you mean '%s'?", name, nearest);
	else
		message_print("unknown verb '%s': 'dedupctl --help' lists the verbs", name);
}

static ExitStatus run(char ***arguments)
{
	g_autofree char *list = verbs_text();
	g_autoptr(GError) error = NULL;
	g_auto(Options) options = { 0 };

	if (!options_parse_common(&options, arguments, list, &error)) {
		message_print("%s", error->message);
		return EXIT_STATUS_USAGE;
	}
	if (options.version) {
		puts("dedupctl " DEDUPD_VERSION);
		return EXIT_STATUS_DONE;
	}

	const char *name = (*arguments)[0] ? (*arguments)[1] : NULL;
	if (!name) {
		message_print("no verb: 'dedupctl status' shows all filesystems, "
			      "'dedupctl --help' lists the verbs");
		return EXIT_STATUS_USAGE;
	}

	const Verb *verb = verb_find(name);
	if (!verb) {
		say_unknown(name);
		return EXIT_STATUS_USAGE;
	}

	g_auto(GStrv) rest = g_strdupv(*arguments + 1);
	g_autofree char *columns = verb->table ? table_kind_text(verb->table) : NULL;
	if (!options_parse_verb(&options, &rest, verb->summary, columns, verb->takes, &error) ||
	    (verb->table && !table_kind_has(verb->table, &options, &error))) {
		message_print("%s: %s", verb->name, error->message);
		return EXIT_STATUS_USAGE;
	}
	return verb->run(&options);
}

int main(int argc, char **argv)
{
	g_auto(GStrv) arguments = g_strdupv(argv);

	setlocale(LC_ALL, "");
	ExitStatus status = run(&arguments);

	/* A full disk or a closed pipe must not look like an answer. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		message_print("cannot write to standard output: %s", g_strerror(errno));
		return EXIT_STATUS_FAILED;
	}
	return (int)status;
}
