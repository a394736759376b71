/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/run-paths.h"
#include "cli/client/daemon-client.h"
#include "cli/client/pass-waiter.h"
#include "cli/terminal/command-runner.h"
#include "cli/terminal/dedupd-program.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"
#include "common/text/usage-error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The service does not say when a pass may begin. */
#define QUEUE_LOOK_USEC (G_USEC_PER_SEC / 5)

/* The signal that requested the end of passes; 0: none. */
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

/* Check the options here, whether the service or dedupd makes the pass. */
static bool check(const Options *options, GError **error)
{
	if (options->nul && !options->files_from)
		return usage_error_set(error, "-0 goes with --files-from");
	for (char **exclude = options->excludes; exclude && *exclude; exclude++) {
		if (g_utf8_validate(*exclude, -1, NULL))
			continue;
		return usage_error_set(error, "--exclude: no UTF-8, which the bus needs");
	}

	return true;
}

static void add_wish(GStrvBuilder *wishes, const char *name, const char *value)
{
	g_autofree char *wish = g_strdup_printf("%s=%s", name, value);

	if (value)
		g_strv_builder_add(wishes, wish);
}

/* The options in the form of the service's RunRequest; with dashes, in dedupd's. */
static char **wishes_of(const Options *options)
{
	g_autoptr(GStrvBuilder) wishes = g_strv_builder_new();

	if (options->dry_run)
		g_strv_builder_add(wishes, "dry-run");
	if (options->changed)
		g_strv_builder_add(wishes, "changed");
	add_wish(wishes, "run-for", options->run_for);
	add_wish(wishes, "min-size", options->min_size);
	add_wish(wishes, "min-age", options->min_age);
	for (char **exclude = options->excludes; exclude && *exclude; exclude++)
		add_wish(wishes, "exclude", *exclude);
	return g_strv_builder_end(wishes);
}

/* The command line that runs dedupd on @paths; NULL: there is no dedupd, which was reported. */
static GStrv dedupd_command(const Options *options, char *const *wishes, char *const *paths)
{
	g_autofree char *program = dedupd_program_find();
	g_autoptr(GStrvBuilder) words = g_strv_builder_new();

	if (!program) {
		message_print("run: dedupd does not run as a service, and is not where it would be "
			      "installed: " DEDUPD_PATH);
		return NULL;
	}

	g_strv_builder_add_many(words, program, "--once", "--now", NULL);
	for (size_t i = 0; wishes[i]; i++) {
		g_autofree char *option = g_strconcat("--", wishes[i], NULL);

		g_strv_builder_add(words, option);
	}
	if (options->queue)
		g_strv_builder_add(words, "--queue");
	if (options->json)
		g_strv_builder_add(words, "--json");
	if (options->state_directory_is_given)
		g_strv_builder_add_many(words, "--state-dir", options->state_directory, NULL);
	g_strv_builder_add(words, "--");
	g_strv_builder_addv(words, (const char **)paths);
	return g_strv_builder_end(words);
}

static ExitStatus say_cannot_run(const char *program, int cause)
{
	return message_fail(EXIT_STATUS_FAILED, "run: cannot run %s: %s", program,
			    g_strerror(cause));
}

/* A list may be too long for one pass. */
static ExitStatus make_passes(const GPtrArray *all, const Options *options, char *const *wishes)
{
	ExitStatus status = EXIT_STATUS_DONE;

	for (guint i = 0; i < all->len && status < EXIT_STATUS_SIGNAL; i++) {
		const RunPaths *paths = all->pdata[i];
		g_auto(GStrv) command = dedupd_command(options, wishes, paths->paths);
		ExitStatus came;
		int cause;

		if (!command)
			return EXIT_STATUS_NEEDS_DAEMON;
		came = command_run(command, &cause);
		if (cause != 0)
			return say_cannot_run(command[0], cause);
		status = exit_status_worse(status, came);
	}

	return status;
}

/* Become dedupd, unless names come from a list. */
static ExitStatus make_pass(const GPtrArray *all, const Options *options, char *const *wishes)
{
	g_auto(GStrv) command = NULL;

	if (options->files_from)
		return make_passes(all, options, wishes);

	command = dedupd_command(options, wishes, options->names);
	if (!command)
		return EXIT_STATUS_NEEDS_DAEMON;
	execv(command[0], command);
	return say_cannot_run(command[0], errno);
}

/* Whether it is not paused, or @options end the pause. */
static bool is_not_paused(DaemonClient *client, const DaemonFilesystem *known,
			  const Options *options, GError **error)
{
	if (!known->is_paused)
		return true;
	if (options->resume)
		return daemon_client_call(client, known->uuid, "Resume", error);

	g_set_error(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_REFUSED,
		    "%s is paused: 'dedupctl resume' ends the pause, and --resume does so first",
		    known->mount_point);
	return false;
}

/* Whether all of @all are enabled in the service. */
static bool are_looked_after(DaemonClient *client, const GPtrArray *all, const Options *options,
			     bool *ret, GError **error)
{
	*ret = true;
	for (guint i = 0; i < all->len; i++) {
		const RunPaths *paths = all->pdata[i];
		g_autoptr(GError) failure = NULL;
		g_autoptr(DaemonFilesystem) known =
			daemon_client_get(client, paths->uuid, &failure);

		if (known && !is_not_paused(client, known, options, error))
			return false;
		*ret &= known && strcmp(known->state, "disabled") != 0;
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
	g_autofree char *report = daemon_client_text(client, uuid, "GetReport", error);

	if (report)
		puts(report);
	return report;
}

/* Start the pass; with --queue, when no other pass prevents it, unless a signal comes first. */
static bool start(PassWaiter *waiter, const RunPaths *paths, char *const *wishes,
		  const Options *options, GError **error)
{
	for (;;) {
		g_autoptr(GError) failure = NULL;

		if (pass_waiter_start_run(waiter, paths->uuid, paths->paths, wishes, &failure))
			return true;
		if (!options->queue || signal_got != 0 ||
		    !g_error_matches(failure, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_IN_USE)) {
			g_propagate_error(error, g_steal_pointer(&failure));
			return false;
		}
		g_usleep(QUEUE_LOOK_USEC);
	}
}

/* Make the service run the pass over one filesystem, and wait for it. */
static ExitStatus have_pass_made(DaemonClient *client, const RunPaths *paths, char *const *wishes,
				 const Options *options)
{
	g_autoptr(PassWaiter) waiter = pass_waiter_new(client);
	g_autoptr(GError) error = NULL;
	ExitStatus status;

	pass_waiter_heed(waiter, &signal_got);
	if (options->json)
		pass_waiter_be_quiet(waiter);
	if (!start(waiter, paths, wishes, options, &error)) {
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

		status = exit_status_worse(status, came);
	}

	/* The signal may have come after a pass, and kept others from starting. */
	return signal_got ? (ExitStatus)(EXIT_STATUS_SIGNAL + signal_got) : status;
}

/*
 * Find the names on the command line and in the list.  *@ret_is_whole: no name of the list was left out;
 * omissions are reported.
 */
static GPtrArray *find_paths(const Options *options, bool *ret_is_whole, GError **error)
{
	g_auto(GStrv) listed = NULL;
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_auto(GStrv) all = NULL;
	g_autoptr(GError) first = NULL;
	GPtrArray *found;
	size_t n_left_out;

	*ret_is_whole = true;
	if (!options->files_from)
		return run_paths_find(options->names, error);

	listed = run_paths_read(options->files_from, options->nul ? '\0' : '\n', error);
	if (!listed) {
		g_prefix_error(error, "--files-from: ");
		return NULL;
	}
	if (options->names)
		g_strv_builder_addv(names, (const char **)options->names);
	g_strv_builder_addv(names, (const char **)listed);
	all = g_strv_builder_end(names);
	found = run_paths_find_listed(all, &n_left_out, &first);
	*ret_is_whole = n_left_out == 0;
	if (first)
		message_print("run: skipping %zu names; the first is %s", n_left_out,
			      first->message);
	return found;
}

/*
 * On btrfs, a pass over paths shares data of these paths with each other only.  So two passes would miss what
 * one finds.  XFS shares them with everything.
 */
static bool are_whole(const GPtrArray *all)
{
	for (guint i = 0; i < all->len; i++) {
		const RunPaths *paths = all->pdata[i];

		if (!paths->is_rest || !paths->is_btrfs)
			continue;
		message_print("run: a pass over a btrfs filesystem takes at most %d names and %d "
			      "KiB of them: name directories",
			      RUN_PATHS_MOST, RUN_PATHS_BYTES_MOST >> 10);
		return false;
	}

	return true;
}

static ExitStatus run(const Options *options)
{
	g_auto(GStrv) wishes = wishes_of(options);
	g_autoptr(GError) error = NULL;
	bool is_whole;
	g_autoptr(GPtrArray) all = find_paths(options, &is_whole, &error);
	g_autoptr(DaemonClient) client = NULL;
	bool are_its = false;
	ExitStatus status;

	if (!all) {
		message_print_error(error);
		return EXIT_STATUS_USAGE;
	}
	if (!are_whole(all))
		return EXIT_STATUS_USAGE;

	/* This cannot keep a store other than the service's. */
	if (!options->state_directory_is_given)
		client = daemon_client_connect(NULL);
	if (client && !are_looked_after(client, all, options, &are_its, &error))
		return message_fail_error(error);

	status = are_its ? have_passes_made(client, all, wishes, options)
			 : make_pass(all, options, wishes);
	return status == EXIT_STATUS_DONE && !is_whole ? EXIT_STATUS_UNREADABLE : status;
}

ExitStatus verb_run(const Options *options)
{
	g_autoptr(GError) error = NULL;

	if (!options->names && !options->files_from)
		return message_fail(EXIT_STATUS_USAGE, "run: it takes directories or files");
	if (!check(options, &error))
		return message_fail(EXIT_STATUS_USAGE, "run: %s", error->message);

	return run(options);
}
