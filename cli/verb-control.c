/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/daemon-client.h"
#include "cli/message.h"
#include "cli/verb.h"

/* The verbs that have the running service do something with filesystems that are named. */

static ExitStatus status_of(const GError *error)
{
	return g_error_matches(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_NOT_RUNNING)
		       ? EXIT_STATUS_NEEDS_DAEMON
		       : EXIT_STATUS_FAILED;
}

static void say(const GError *error)
{
	g_autofree char *text = message_text(error->message);

	message_print("%s", text);
}

/* Call @method of each that is named; one that fails does not keep the others. */
static ExitStatus call_each(const Options *options, const char *method)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonClient) client = NULL;
	ExitStatus status = EXIT_STATUS_DONE;

	if (!options->names) {
		message_print(
			"no filesystem: give a mount point or a UUID; 'dedupctl list' shows them");
		return EXIT_STATUS_USAGE;
	}

	client = daemon_client_connect(&error);
	if (!client) {
		say(error);
		return status_of(error);
	}

	for (char **name = options->names; *name; name++) {
		g_autoptr(GError) failure = NULL;

		if (daemon_client_call(client, *name, method, &failure))
			continue;
		say(failure);
		status = EXIT_STATUS_FAILED;
	}

	return status;
}

ExitStatus verb_start(const Options *options)
{
	return call_each(options, "Start");
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

	say(error);
	return status_of(error);
}
