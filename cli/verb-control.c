/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/daemon-client.h"
#include "cli/message.h"
#include "cli/pass-waiter.h"
#include "cli/verb.h"

/* The verbs that have the running service do something with filesystems that are named. */

static ExitStatus status_of(const GError *error)
{
	return g_error_matches(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_NOT_RUNNING)
		       ? EXIT_STATUS_NEEDS_DAEMON
		       : EXIT_STATUS_FAILED;
}

/* The service, if filesystems are named that it can do something with. */
static DaemonClient *connect_for(const Options *options, ExitStatus *ret_status)
{
	g_autoptr(GError) error = NULL;
	DaemonClient *client;

	if (!options->names) {
		message_print(
			"no filesystem: give a mount point or a UUID; 'dedupctl list' shows them");
		*ret_status = EXIT_STATUS_USAGE;
		return NULL;
	}

	client = daemon_client_connect(&error);
	if (!client) {
		message_print_error(error);
		*ret_status = status_of(error);
	}
	return client;
}

/* Call @method of each that is named; one that fails does not keep the others. */
static ExitStatus call_each(const Options *options, const char *method)
{
	ExitStatus status = EXIT_STATUS_DONE;
	g_autoptr(DaemonClient) client = connect_for(options, &status);

	for (char **name = options->names; client && *name; name++) {
		g_autoptr(GError) failure = NULL;

		if (daemon_client_call(client, *name, method, &failure))
			continue;
		message_print_error(failure);
		status = EXIT_STATUS_FAILED;
	}

	return status;
}

static ExitStatus start_and_wait(const Options *options)
{
	ExitStatus status = EXIT_STATUS_DONE;
	g_autoptr(DaemonClient) client = connect_for(options, &status);
	g_autoptr(PassWaiter) waiter = pass_waiter_new(client);
	ExitStatus waited;

	for (char **name = options->names; client && *name; name++) {
		g_autoptr(GError) failure = NULL;

		if (pass_waiter_start(waiter, *name, &failure))
			continue;
		message_print_error(failure);
		status = EXIT_STATUS_FAILED;
	}

	waited = pass_waiter_run(waiter);
	return status == EXIT_STATUS_DONE ? waited : status;
}

ExitStatus verb_start(const Options *options)
{
	return options->wait ? start_and_wait(options) : call_each(options, "Start");
}

ExitStatus verb_stop(const Options *options)
{
	return call_each(options, "Stop");
}

ExitStatus verb_pause(const Options *options)
{
	return call_each(options, "Pause");
}

ExitStatus verb_resume(const Options *options)
{
	return call_each(options, "Resume");
}

ExitStatus verb_forget(const Options *options)
{
	return call_each(options, "Forget");
}

ExitStatus verb_reload(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonClient) client = daemon_client_connect(&error);

	if (client && daemon_client_reload(client, &error))
		return EXIT_STATUS_DONE;

	message_print_error(error);
	return status_of(error);
}
