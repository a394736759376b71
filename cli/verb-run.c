/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/daemon-client.h"
#include "cli/dedupd-program.h"
#include "cli/message.h"
#include "cli/pass-waiter.h"
#include "cli/run-paths.h"
#include "cli/verb.h"
#include "daemon/duration-text.h"
#include "daemon/size-text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* That asked for the passes to end; 0: none did. */
static volatile sig_atomic_t signal_got;

static void on_signal(int number)
{
	signal_got = number;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* What is wrong with options is said here, whoever makes the pass. */
static bool check(const Options *options, GError **error)
{
	uint64_t number;

	if (options->min_size && !size_parse(options->min_size, &number, error)) {
		g_prefix_error(error, "--min-size: ");
		return false;
	}
	if (options->min_age && !duration_parse(options->min_age, &number, error)) {
		g_prefix_error(error, "--min-age: ");
		return false;
	}
	for (char **exclude = options->excludes; exclude && *exclude; exclude++) {
		if (g_utf8_validate(*exclude, -1, NULL))
			continue;
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
				    "--exclude: no UTF-8, which the bus needs");
		return false;
	}

	return true;
}

static void add_wish(GStrvBuilder *wishes, const char *name, const char *value)
{
	g_autofree char *wish = g_strdup_printf("%s=%s", name, value);

	if (value)
		g_strv_builder_add(wishes, wish);
}

/* The options as RunRequest of the service takes them, and with dashes dedupd. */
static char **wishes_of(const Options *options)
{
	g_autoptr(GStrvBuilder) wishes = g_strv_builder_new();

	if (options->dry_run)
		g_strv_builder_add(wishes, "dry-run");
	add_wish(wishes, "min-size", options->min_size);
	add_wish(wishes, "min-age", options->min_age);
	for (char **exclude = options->excludes; exclude && *exclude; exclude++)
		add_wish(wishes, "exclude", *exclude);
	return g_strv_builder_end(wishes);
}

/* Become dedupd; returns only if that cannot be. */
static ExitStatus make_pass(const Options *options, char *const *wishes)
{
	g_autofree char *program = dedupd_program_find();
	g_autoptr(GStrvBuilder) words = g_strv_builder_new();
	g_auto(GStrv) arguments = NULL;

	if (!program) {
		message_print("run: dedupd does not run as a service, and is not where it would be "
			      "installed: " DEDUPD_PATH);
		return EXIT_STATUS_NEEDS_DAEMON;
	}

	g_strv_builder_add_many(words, program, "--once", "--now", NULL);
	for (size_t i = 0; wishes[i]; i++) {
		g_autofree char *option = g_strconcat("--", wishes[i], NULL);

		g_strv_builder_add(words, option);
	}
	if (options->json)
		g_strv_builder_add(words, "--json");
	if (options->state_directory_is_given)
		g_strv_builder_add_many(words, "--state-dir", options->state_directory, NULL);
	g_strv_builder_add(words, "--");
	g_strv_builder_addv(words, (const char **)options->names);
	arguments = g_strv_builder_end(words);
	execv(program, arguments);
	message_print("run: cannot run %s: %s", program, g_strerror(errno));
	return EXIT_STATUS_FAILED;
}

/* Whether the service works on all of @all. */
static bool are_looked_after(DaemonClient *client, const GPtrArray *all, bool *ret, GError **error)
{
	*ret = true;
	for (guint i = 0; i < all->len && *ret; i++) {
		const RunPaths *paths = all->pdata[i];
		g_autoptr(GError) failure = NULL;
		g_autoptr(DaemonFilesystem) known =
			daemon_client_get(client, paths->uuid, &failure);

		*ret = known && strcmp(known->state, "disabled") != 0;
		if (known ||
		    g_error_matches(failure, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_UNKNOWN))
			continue;
		g_propagate_error(error, g_steal_pointer(&failure));
		return false;
	}

	return true;
}

static bool print_report(DaemonClient *client, const char *uuid, GError **error)
{
	g_autofree char *report = daemon_client_report(client, uuid, error);

	if (report)
		puts(report);
	return report;
}

/* Have the service make the pass over one filesystem, and wait for it. */
static ExitStatus have_pass_made(DaemonClient *client, const RunPaths *paths, char *const *wishes,
				 const Options *options)
{
	g_autoptr(PassWaiter) waiter = pass_waiter_new(client);
	g_autoptr(GError) error = NULL;
	ExitStatus status;

	pass_waiter_heed(waiter, &signal_got);
	if (options->json)
		pass_waiter_be_quiet(waiter);
	if (!pass_waiter_start_run(waiter, paths->uuid, paths->paths, wishes, &error)) {
		message_print_error(error);
		return g_error_matches(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_IN_USE)
			       ? EXIT_STATUS_IN_USE
			       : EXIT_STATUS_FAILED;
	}

	status = pass_waiter_run(waiter);
	if (!options->json || print_report(client, paths->uuid, &error))
		return status;

	message_print_error(error);
	return status == EXIT_STATUS_DONE ? EXIT_STATUS_FAILED : status;
}

static ExitStatus have_passes_made(DaemonClient *client, const GPtrArray *all, char *const *wishes,
				   const Options *options)
{
	ExitStatus status = EXIT_STATUS_DONE;

	catch_signals();
	for (guint i = 0; i < all->len && signal_got == 0; i++) {
		ExitStatus came = have_pass_made(client, all->pdata[i], wishes, options);

		if (came != EXIT_STATUS_DONE)
			status = came;
	}

	/* It may have come when a pass was done, and others were not begun for it. */
	return signal_got ? (ExitStatus)(EXIT_STATUS_SIGNAL + signal_got) : status;
}

static ExitStatus run(const Options *options)
{
	g_auto(GStrv) wishes = wishes_of(options);
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) all = run_paths_find(options->names, &error);
	g_autoptr(DaemonClient) client = NULL;
	bool are_its = false;

	if (!all) {
		message_print_error(error);
		return EXIT_STATUS_USAGE;
	}

	/* Another store than the service's is nothing that this could keep. */
	if (!options->state_directory_is_given)
		client = daemon_client_connect(NULL);
	if (client && !are_looked_after(client, all, &are_its, &error)) {
		message_print_error(error);
		return EXIT_STATUS_FAILED;
	}

	return are_its ? have_passes_made(client, all, wishes, options)
		       : make_pass(options, wishes);
}

ExitStatus verb_run(const Options *options)
{
	g_autoptr(GError) error = NULL;

	if (!options->names) {
		message_print("run: it takes directories or files");
		return EXIT_STATUS_USAGE;
	}
	if (!check(options, &error)) {
		message_print("run: %s", error->message);
		return EXIT_STATUS_USAGE;
	}

	return run(options);
}
