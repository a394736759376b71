/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/once.h"

#include "daemon/filesystem-lock.h"
#include "daemon/progress-display.h"
#include "daemon/report.h"
#include "daemon/worker.h"
#include "kernel-ioctl/fd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_event, sd_event_unref)

typedef struct {
	const Settings *settings;
	sd_event *event;
	ProgressDisplay *display; /* of the pass that runs; NULL when nothing is to be shown */
	int signal;               /* that asked to stop; 0: none */
	atomic_bool stop;
} Once;

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	Once *once = data;

	once->signal = (int)info->ssi_signo;
	atomic_store(&once->stop, true);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *data)
{
	Once *once = data;
	int failed;

	if (once->display)
		progress_display_update(once->display);

	failed = sd_event_source_set_time_relative(source, PROGRESS_DISPLAY_USEC);
	return failed < 0 ? failed : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_finished(sd_event_source *source, int fd, uint32_t events, void *data)
{
	Once *once = data;
	eventfd_t value;

	eventfd_read(fd, &value);
	return sd_event_exit(once->event, 0);
}

/* Build the loop anew for each pass, since one that was exited cannot go on. */
static int make_loop(Once *once, int finished_fd)
{
	int failed = sd_event_new(&once->event);

	if (failed >= 0)
		failed = sd_event_add_signal(once->event, NULL, SIGINT, on_signal, once);
	if (failed >= 0)
		failed = sd_event_add_signal(once->event, NULL, SIGTERM, on_signal, once);
	if (failed >= 0)
		failed = sd_event_add_time_relative(once->event, NULL, CLOCK_MONOTONIC,
						    PROGRESS_DISPLAY_USEC, 0, on_timer, once);
	if (failed >= 0)
		failed =
			sd_event_add_io(once->event, NULL, finished_fd, EPOLLIN, on_finished, once);

	return failed;
}

/* Have a worker make the pass, and show its progress until it has ended. */
static void run_pass(Once *once, const Filesystem *filesystem, PassResult *result)
{
	g_auto(Fd) finished_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g_autoptr(GError) error = NULL;
	Progress progress = { 0 };
	Worker *worker = NULL;
	int failed = finished_fd < 0 ? -1 : make_loop(once, finished_fd);

	result->outcome = PASS_FAILED;
	if (failed >= 0)
		worker = worker_start(once->settings, filesystem, &once->stop, &progress, result,
				      finished_fd, &error);
	if (!worker) {
		g_critical("cannot start to work: %s",
			   error ? error->message : g_strerror(-failed));
		g_clear_pointer(&once->event, sd_event_unref);
		return;
	}

	if (!once->settings->quiet)
		once->display = progress_display_new(&progress, filesystem->mount_point);
	sd_event_loop(once->event);
	worker_join(worker);
	g_clear_pointer(&once->display, progress_display_free);
	g_clear_pointer(&once->event, sd_event_unref);
}

static bool is_in_use(const GError *error)
{
	return g_error_matches(error, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE) ||
	       g_error_matches(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE);
}

static int exit_status_of(const PassResult *result)
{
	if (result->outcome == PASS_FAILED)
		return is_in_use(result->error) ? EXIT_STATUS_IN_USE : EXIT_STATUS_FAILED;

	if (result->stopped_reason)
		return EXIT_STATUS_STOPPED;

	return result->skips.entries[SKIP_UNREADABLE].count > 0 ? EXIT_STATUS_UNREADABLE
								: EXIT_STATUS_DONE;
}

/* The status that says most: a failure before files that could not be read. */
static int worse_status(int one, int other)
{
	static const int order[] = { EXIT_STATUS_DONE, EXIT_STATUS_UNREADABLE, EXIT_STATUS_STOPPED,
				     EXIT_STATUS_IN_USE, EXIT_STATUS_FAILED };
	size_t worst = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(order); i++)
		if (one == order[i] || other == order[i])
			worst = i;

	return order[worst];
}

static void print_json(const Settings *settings, GPtrArray *filesystems, PassResult *results,
		       size_t n_passes)
{
	g_autofree ReportedPass *passes = g_new0(ReportedPass, n_passes + 1);
	char *json;

	for (size_t i = 0; i < n_passes; i++)
		passes[i] = (ReportedPass){ filesystems->pdata[i], &results[i] };

	json = report_json(settings, passes, n_passes);
	puts(json);
	free(json);
}

static void print_text(const Settings *settings, const Filesystem *filesystem,
		       const PassResult *result)
{
	ReportedPass pass = { filesystem, result };
	g_autofree char *lines = report_text(settings, &pass);

	fputs(lines, stdout);
	fflush(stdout);
}

int once_run(const Settings *settings)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) filesystems = filesystems_find(settings->paths, &error);
	g_autofree PassResult *results = NULL;
	Once once = { .settings = settings };
	int status = EXIT_STATUS_DONE;
	size_t n_passes = 0;

	if (!filesystems) {
		g_critical("%s", error->message);
		return EXIT_STATUS_USAGE;
	}

	results = g_new0(PassResult, filesystems->len);
	for (; n_passes < filesystems->len && !once.signal; n_passes++) {
		const Filesystem *filesystem = filesystems->pdata[n_passes];
		PassResult *result = &results[n_passes];

		run_pass(&once, filesystem, result);
		if (result->error)
			g_critical("%s", result->error->message);
		else if (!settings->quiet && !settings->json)
			print_text(settings, filesystem, result);
		status = worse_status(status, exit_status_of(result));
	}

	if (settings->json)
		print_json(settings, filesystems, results, n_passes);
	for (size_t i = 0; i < n_passes; i++)
		pass_result_clear(&results[i]);

	return once.signal ? EXIT_STATUS_SIGNAL + once.signal : status;
}
