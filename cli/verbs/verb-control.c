/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/daemon-client.h"
#include "cli/client/pass-waiter.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"
#include "common/config/config.h"
#include "common/text/duration-text.h"

#include <string.h>

/* The verbs that make the running service act on named filesystems. */

static ExitStatus status_of(const GError *error)
{
	return g_error_matches(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_NOT_RUNNING)
		       ? EXIT_STATUS_NEEDS_DAEMON
		       : EXIT_STATUS_FAILED;
}

/* Connect to the service, if filesystems are named on which it can act. */
static DaemonClient *connect_for(const Options *options, ExitStatus *ret_status)
{
	g_autoptr(GError) error = NULL;
	DaemonClient *client;

	if (!options->names == !options->all) {
		message_print(options->all ? "--all takes no names"
					   : "no filesystem: give a mount point or a UUID; "
					     "'dedupctl list' shows them");
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

/* The named filesystems, or all that the service knows. */
static GStrv names_of(DaemonClient *client, const Options *options, GError **error)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_autoptr(GPtrArray) all = NULL;

	if (!options->all)
		return g_strdupv(options->names);
	all = daemon_client_list(client, error);
	if (!all)
		return NULL;

	for (guint i = 0; i < all->len; i++) {
		const DaemonFilesystem *filesystem = all->pdata[i];

		g_strv_builder_add(names, filesystem->uuid);
	}
	return g_strv_builder_end(names);
}

typedef bool (*Call)(DaemonClient *client, const char *name, const void *data, GError **error);

/* Make @call for each named filesystem.  A failure does not prevent the others. */
static ExitStatus call_each(const Options *options, Call call, const void *data)
{
	ExitStatus status = EXIT_STATUS_DONE;
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonClient) client = connect_for(options, &status);
	g_auto(GStrv) names = client ? names_of(client, options, &error) : NULL;

	if (error)
		return message_fail_error(error);
	for (char **name = names; name && *name; name++) {
		g_autoptr(GError) failure = NULL;

		if (call(client, *name, data, &failure))
			continue;
		message_print_error(failure);
		status = EXIT_STATUS_FAILED;
	}

	return status;
}

static bool call_method(DaemonClient *client, const char *name, const void *method, GError **error)
{
	return daemon_client_call(client, name, method, error);
}

static bool resume_and_start(DaemonClient *client, const char *name, const void *unused,
			     GError **error)
{
	return daemon_client_call(client, name, "Resume", error) &&
	       daemon_client_call(client, name, "Start", error);
}

static bool pause_for(DaemonClient *client, const char *name, const void *usec, GError **error)
{
	return daemon_client_pause_for(client, name, *(const uint64_t *)usec, error);
}

static bool start_to_wait(PassWaiter *waiter, DaemonClient *client, const char *name,
			  const Options *options, GError **error)
{
	if (options->resume && !daemon_client_call(client, name, "Resume", error))
		return false;

	return pass_waiter_start(waiter, name, error);
}

static ExitStatus start_and_wait(const Options *options)
{
	ExitStatus status = EXIT_STATUS_DONE;
	g_autoptr(DaemonClient) client = connect_for(options, &status);
	g_autoptr(PassWaiter) waiter = pass_waiter_new(client);
	ExitStatus waited;

	for (char **name = options->names; client && *name; name++) {
		g_autoptr(GError) failure = NULL;

		if (start_to_wait(waiter, client, *name, options, &failure))
			continue;
		message_print_error(failure);
		status = EXIT_STATUS_FAILED;
	}

	waited = pass_waiter_run(waiter);
	return status == EXIT_STATUS_DONE ? waited : status;
}

ExitStatus verb_start(const Options *options)
{
	if (options->wait)
		return start_and_wait(options);

	return options->resume ? call_each(options, resume_and_start, NULL)
			       : call_each(options, call_method, "Start");
}

ExitStatus verb_stop(const Options *options)
{
	return call_each(options, call_method, "Stop");
}

/* The time at the end of the names, if it is not a path; NULL: there is none. */
static const char *find_time(const Options *options)
{
	guint n = options->names ? g_strv_length(options->names) : 0;
	const char *last = n > 0 ? options->names[n - 1] : "";
	g_autofree char *uuid = config_name_of_filesystem(last);

	return (options->all || n > 1) && g_ascii_isdigit(*last) && !uuid && !strchr(last, '/')
		       ? last
		       : NULL;
}

ExitStatus verb_pause(const Options *options)
{
	const char *time = find_time(options);
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = g_strdupv(options->names);
	Options without_time = *options;
	uint64_t usec;

	if (!time)
		return call_each(options, call_method, "Pause");
	if (!duration_parse(time, &usec, &error))
		return message_fail(EXIT_STATUS_USAGE, "pause: %s", error->message);

	g_clear_pointer(&names[g_strv_length(names) - 1], g_free);
	without_time.names = names[0] ? names : NULL;
	return call_each(&without_time, pause_for, &usec);
}

ExitStatus verb_resume(const Options *options)
{
	return call_each(options, call_method, "Resume");
}

ExitStatus verb_forget(const Options *options)
{
	return call_each(options, call_method, "Forget");
}

ExitStatus verb_reload(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonClient) client = daemon_client_connect(&error);

	if (client && daemon_client_reload(client, &error))
		return EXIT_STATUS_DONE;

	/* Print all errors of the configuration. */
	message_print_lines(error->message);
	return status_of(error);
}
