/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/pass-waiter.h"

#include "cli/client/filesystem-status.h"
#include "cli/terminal/message.h"
#include "common/text/size-text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_USEC 200000

/* Erases the line to its end (ECMA-48, EL). */
#define ERASE_LINE "\r\033[K"

typedef struct {
	char *uuid;
	uint64_t passes; /* the pass that had ended before */
	bool is_run;     /* over paths alone */
	bool is_dry;
	bool may_run_out;       /* end of the requested time */
	uint64_t deadline_usec; /* as seen last; 0: not yet */
} Awaited;

struct PassWaiter {
	DaemonClient *client; /* borrowed */
	GPtrArray *awaited;   /* Awaited */
	const volatile sig_atomic_t *signal;
	bool is_stopped; /* for the signal */
	bool is_quiet;
	bool is_terminal;
	ExitStatus status;
};

static void awaited_free(void *data)
{
	Awaited *awaited = data;

	g_free(awaited->uuid);
	g_free(awaited);
}

PassWaiter *pass_waiter_new(DaemonClient *client)
{
	PassWaiter *waiter = g_new0(PassWaiter, 1);

	waiter->client = client;
	waiter->awaited = g_ptr_array_new_with_free_func(awaited_free);
	waiter->is_terminal = isatty(STDERR_FILENO);
	return waiter;
}

void pass_waiter_free(PassWaiter *waiter)
{
	if (!waiter)
		return;

	g_ptr_array_unref(waiter->awaited);
	g_free(waiter);
}

void pass_waiter_heed(PassWaiter *waiter, const volatile sig_atomic_t *signal)
{
	waiter->signal = signal;
}

void pass_waiter_be_quiet(PassWaiter *waiter)
{
	waiter->is_quiet = true;
}

static Awaited *add(PassWaiter *waiter, const DaemonFilesystem *before)
{
	Awaited *awaited = g_new0(Awaited, 1);

	awaited->uuid = g_strdup(before->uuid);
	awaited->passes = before->passes;
	g_ptr_array_add(waiter->awaited, awaited);
	return awaited;
}

bool pass_waiter_start(PassWaiter *waiter, const char *name, GError **error)
{
	/* Read the state before, since a pass may end at once. */
	g_autoptr(DaemonFilesystem) before = daemon_client_get(waiter->client, name, error);

	if (!before || !daemon_client_call(waiter->client, name, "Start", error))
		return false;

	add(waiter, before);
	return true;
}

bool pass_waiter_start_run(PassWaiter *waiter, const char *name, char *const *paths,
			   char *const *wishes, GError **error)
{
	g_autoptr(DaemonFilesystem) before = daemon_client_get(waiter->client, name, error);
	Awaited *awaited;

	if (!before || !daemon_client_run(waiter->client, name, paths, wishes, error))
		return false;

	awaited = add(waiter, before);
	awaited->is_run = true;
	for (size_t i = 0; wishes[i]; i++)
		awaited->may_run_out |= g_str_has_prefix(wishes[i], "run-for=");
	awaited->is_dry = g_strv_contains((const char *const *)wishes, "dry-run");
	return true;
}

static void show(const PassWaiter *waiter, const DaemonFilesystem *filesystem)
{
	g_autofree char *mount_point = message_terminal_text(filesystem->mount_point);
	g_autofree char *why = filesystem_why_text(filesystem);
	g_autofree char *freed = size_text(filesystem->pass_freed_bytes);

	if (waiter->is_terminal)
		fprintf(stderr, ERASE_LINE "%s: %s  freed %s", mount_point, why, freed);
}

static void erase(const PassWaiter *waiter)
{
	if (waiter->is_terminal)
		fputs(ERASE_LINE, stderr);
}

/* Whether the requested time ended it, as intended. */
static bool ran_out(const Awaited *awaited, const DaemonFilesystem *filesystem)
{
	return awaited->may_run_out && awaited->deadline_usec > 0 &&
	       filesystem->last_ended_usec >= awaited->deadline_usec;
}

static void note(PassWaiter *waiter, ExitStatus status)
{
	waiter->status = exit_status_worse(waiter->status, status);
}

/* Report the result of the pass. */
static void take_ended(PassWaiter *waiter, const Awaited *awaited,
		       const DaemonFilesystem *filesystem)
{
	g_autofree char *mount_point = message_terminal_text(filesystem->mount_point);
	g_autofree char *freed = size_text(filesystem->last_freed_bytes);

	erase(waiter);
	if (!waiter->is_quiet)
		printf("%s: %s, %s %s\n", mount_point, filesystem->last_outcome,
		       awaited->is_dry ? "would free about" : "freed", freed);
	if (awaited->is_run && filesystem->last_exit_status != 0)
		note(waiter, (ExitStatus)filesystem->last_exit_status);
	else if (strcmp(filesystem->last_outcome, "complete") != 0 && !ran_out(awaited, filesystem))
		note(waiter, EXIT_STATUS_FAILED);
}

/* Report that no pass is going to begin. */
static void say_hindered(PassWaiter *waiter, const DaemonFilesystem *filesystem)
{
	if (waiter->is_stopped)
		return;

	g_autofree char *why = filesystem_why_text(filesystem);
	g_autofree char *mount_point = message_text(filesystem->mount_point);

	erase(waiter);
	message_print("no pass begins over %s: %s", mount_point,
		      why[0] != '\0' ? why : filesystem->state);
	note(waiter, EXIT_STATUS_FAILED);
}

static bool is_any(const char *word, const char *one, const char *other)
{
	return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

/* Whether a hold ended it, so that it continues afterwards. */
static bool goes_on(const DaemonFilesystem *filesystem)
{
	return filesystem->is_asked && !filesystem->is_paused &&
	       strcmp(filesystem->last_outcome, "interrupted") == 0 &&
	       filesystem->last_exit_status == EXIT_STATUS_IN_USE;
}

/* Look once; false: nothing is left to wait for. */
static bool look(PassWaiter *waiter, Awaited *awaited)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonFilesystem) filesystem =
		daemon_client_get(waiter->client, awaited->uuid, &error);

	if (!filesystem) {
		erase(waiter);
		message_print_error(error);
		note(waiter, EXIT_STATUS_FAILED);
		return false;
	}
	if (filesystem->passes > awaited->passes && goes_on(filesystem))
		awaited->passes = filesystem->passes;
	if (filesystem->passes > awaited->passes) {
		take_ended(waiter, awaited, filesystem);
		return false;
	}
	if (!is_any(filesystem->state, "running", "stopping") &&
	    (filesystem->is_paused || !filesystem->is_asked ||
	     strcmp(filesystem->state, "waiting") != 0)) {
		say_hindered(waiter, filesystem);
		return false;
	}

	if (filesystem->deadline_usec > 0)
		awaited->deadline_usec = filesystem->deadline_usec;
	show(waiter, filesystem);
	return true;
}

/* Stop the pass that is waited for. */
static void stop(PassWaiter *waiter, const Awaited *awaited)
{
	g_autoptr(GError) error = NULL;

	waiter->is_stopped = true;
	if (daemon_client_call(waiter->client, awaited->uuid, "Stop", &error))
		return;
	erase(waiter);
	message_print_error(error);
}

ExitStatus pass_waiter_run(PassWaiter *waiter)
{
	waiter->status = EXIT_STATUS_DONE;
	for (guint i = 0; i < waiter->awaited->len; i++)
		while (look(waiter, waiter->awaited->pdata[i])) {
			fflush(stdout);
			if (waiter->signal && *waiter->signal != 0 && !waiter->is_stopped)
				stop(waiter, waiter->awaited->pdata[i]);
			g_usleep(LOOK_USEC);
		}

	if (waiter->is_stopped)
		return (ExitStatus)(EXIT_STATUS_SIGNAL + (int)*waiter->signal);
	return waiter->status;
}
