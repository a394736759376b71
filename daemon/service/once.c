/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/service/once.h"

#include "common/config/time-window.h"
#include "common/metrics/metrics-file.h"
#include "common/metrics/store-figures.h"
#include "daemon/manager/main-loop.h"
#include "daemon/pass/worker.h"
#include "daemon/report/journal.h"
#include "daemon/report/pass-status.h"
#include "daemon/report/progress-display.h"
#include "daemon/report/report.h"
#include "daemon/settings/configured-filesystems.h"
#include "daemon/settings/pass-settings.h"
#include "kernel-ioctl/call/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* Other processes send no events, so they are polled. */
#define QUEUE_USEC (G_USEC_PER_SEC / 5)

/* How often, and how long, to wait for another --once that writes the metrics: it takes milliseconds. */
#define CLAIM_TRIES 10
#define CLAIM_USEC  (G_USEC_PER_SEC / 50)

typedef struct {
	const Settings *settings; /* of the command line */
	const Config *config;
	char *const *arguments;
	DiskTable *disks;
	char *metrics_file;       /* NULL: none */
	char *state_directory;    /* the same */
	MainLoop *loop;           /* of the pass that runs */
	ProgressDisplay *display; /* of the pass that runs; NULL when nothing is to be shown */
	int signal;               /* that asked to stop; 0: none */
	const char *limit;        /* that ended the pass; NULL: none */
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

static int end_pass(Once *once, const char *limit)
{
	once->limit = limit;
	atomic_store(&once->stop, true);
	return 0;
}

static int on_window_closed(sd_event_source *source, uint64_t usec, void *data)
{
	return end_pass(data, "its window closed");
}

static int on_time_up(sd_event_source *source, uint64_t usec, void *data)
{
	return end_pass(data, "its time was up");
}

/* End the pass when its window closes or its time is up. */
static int add_limits(Once *once, const Settings *settings)
{
	time_t close;
	int failed = 0;

	if (!settings->now && time_windows_next_change(settings->windows, time(NULL), &close))
		failed = sd_event_add_time(once->loop->event, NULL, CLOCK_REALTIME,
					   (uint64_t)close * G_USEC_PER_SEC, 0, on_window_closed,
					   once);
	if (failed >= 0 && settings->run_for_usec > 0)
		failed = sd_event_add_time_relative(once->loop->event, NULL, CLOCK_MONOTONIC,
						    settings->run_for_usec, 0, on_time_up, once);
	return failed;
}

static void on_finished(void *content, void *data)
{
	Once *once = data;

	sd_event_exit(once->loop->event, 0);
}

static bool add_sources(Once *once, const Settings *settings, GError **error)
{
	sd_event *event = once->loop->event;
	int failed = sd_event_add_signal(event, NULL, SIGINT, on_signal, once);

	if (failed >= 0)
		failed = sd_event_add_signal(event, NULL, SIGTERM, on_signal, once);
	if (failed >= 0)
		failed = sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC,
						    PROGRESS_DISPLAY_USEC, 0, on_timer, once);
	if (failed >= 0)
		failed = add_limits(once, settings);
	if (failed >= 0)
		return true;

	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-failed), "%s",
		    g_strerror(-failed));
	return false;
}

/* Start a worker, and show its progress until it has ended. */
static void run_pass(Once *once, const Settings *settings, Filesystem *filesystem,
		     PassResult *result)
{
	g_autoptr(GError) error = NULL;
	/* Anew for each pass, since a loop that was exited cannot go on. */
	g_autoptr(MainLoop) loop = main_loop_new(&error);
	g_autoptr(Receiver) finished = NULL;
	Progress progress = { 0 };
	Worker *worker = NULL;

	result->outcome = PASS_FAILED;
	once->loop = loop;
	if (loop && add_sources(once, settings, &error)) {
		finished = receiver_new(loop->messages, on_finished, NULL, once);
		worker = worker_start(settings, filesystem, once->disks, &once->stop, &progress,
				      result, finished, &error);
	}
	if (!worker) {
		g_propagate_prefixed_error(&result->error, g_steal_pointer(&error),
					   "cannot start to work: ");
		return;
	}

	if (!settings->quiet)
		once->display = progress_display_new(&progress, filesystem->mount_point);
	sd_event_loop(loop->event);
	worker_join(worker);
	g_clear_pointer(&once->display, progress_display_free);
}

/* Write MetricsFile= after @n_passes.  If the service has claimed the file, it writes that. */
static void write_metrics(const Once *once, const GPtrArray *filesystems, const PassResult *results,
			  size_t n_passes)
{
	g_autoptr(Metrics) metrics = metrics_new(false);
	g_autoptr(GPtrArray) stores = store_figures_new();
	g_autoptr(GError) error = NULL;
	g_auto(Fd) claim = -1;

	if (!once->metrics_file)
		return;
	for (int i = 0; !metrics_file_claim(once->metrics_file, &claim); i++) {
		if (i == CLAIM_TRIES)
			return;
		g_usleep(CLAIM_USEC);
	}
	for (size_t i = 0; i < n_passes; i++) {
		const Filesystem *filesystem = filesystems->pdata[i];
		const FilesystemMetrics pass = {
			.uuid = filesystem->uuid,
			.kind = fs_kind_name(filesystem->identity.kind),
			.mount_point = filesystem->mount_point,
			.last_outcome = pass_outcome_name(results[i].outcome),
			.last_started_usec = results[i].started_usec,
			.last_ended_usec = results[i].ended_usec,
			.is_disk_failing = results[i].is_disk_failing,
		};

		if (pass_exit_status(&results[i]) != EXIT_STATUS_IN_USE)
			metrics_add_filesystem(metrics, &pass);
	}
	if (!metrics_file_write(once->metrics_file, once->state_directory, metrics, stores, &error))
		g_warning("cannot write metrics: %s", error->message);
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

/* Say why the status of a pass is not 0, where neither the text of its report nor an earlier message does. */
static void say_status(const Settings *settings, const Filesystem *filesystem,
		       const PassResult *result)
{
	if (!settings->quiet && !settings->json)
		return;

	switch (pass_exit_status(result)) {
	case EXIT_STATUS_IN_USE:
	case EXIT_STATUS_STOPPED:
		g_warning("%s: the pass ended early, as %s", filesystem->mount_point,
			  result->stopped_reason);
		break;
	case EXIT_STATUS_UNREADABLE:
		g_warning("%s: %" G_GUINT64_FORMAT " files could not be read",
			  filesystem->mount_point, result->skips.entries[SKIP_UNREADABLE].count);
		break;
	default:
		break;
	}
}

/* Whether a pass may begin now; if not, print when. */
static bool may_begin(const Settings *settings, const Filesystem *filesystem)
{
	g_autoptr(GDateTime) local = NULL;
	g_autofree char *text = NULL;
	time_t now = time(NULL);
	time_t open;

	if (settings->now || time_windows_are_open(settings->windows, now))
		return true;

	if (time_windows_next_change(settings->windows, now, &open)) {
		local = g_date_time_new_from_unix_local(open);
		text = g_date_time_format(local, "%Y-%m-%d %H:%M");
	}
	g_warning("skipping %s until its window%s%s (--now does not wait)", filesystem->mount_point,
		  text ? ", which opens at " : "", text ? text : "");
	return false;
}

/*
 * Whether the pass could not begin and has to be tried again.  All processes that wait for another one would see
 * its end together.  So each tries: the pass takes the lock.
 */
static bool waits_for_others(const Once *once, const Settings *settings,
			     const Filesystem *filesystem, const PassResult *result, bool was_said)
{
	if (!settings->queue || once->signal || result->outcome != PASS_FAILED ||
	    pass_exit_status(result) != EXIT_STATUS_IN_USE)
		return false;

	if (!was_said)
		g_message("%s: waiting: %s", filesystem->mount_point, result->error->message);
	return true;
}

/* Make a pass over @filesystem, if it may begin; returns whether it did. */
static bool work_on(Once *once, Filesystem *filesystem, PassResult *result)
{
	g_autoptr(GError) error = NULL;
	g_auto(Settings) settings = { 0 };
	g_auto(Fd) kept = -1;
	bool done;

	if (!pass_settings_make(once->config, once->arguments, filesystem, &settings, &done,
				&error)) {
		result->outcome = PASS_FAILED;
		result->error = g_steal_pointer(&error);
		return true;
	}
	if ((!once->settings->paths && settings.enable == ENABLE_NO) ||
	    !may_begin(&settings, filesystem))
		return false;

	if (!settings.dry_run && !once->metrics_file) {
		once->metrics_file = g_strdup(settings.metrics_file);
		once->state_directory = g_strdup(settings.state_directory);
	}
	/* A worker closes its filesystem. */
	kept = settings.queue ? fcntl(filesystem->fd, F_DUPFD_CLOEXEC, 0) : -1;
	run_pass(once, &settings, filesystem, result);
	for (bool was_said = false; waits_for_others(once, &settings, filesystem, result, was_said);
	     was_said = true) {
		pass_result_clear(result);
		*result = (PassResult){ 0 };
		once->limit = NULL;
		atomic_store(&once->stop, false);
		g_usleep(QUEUE_USEC);
		if (!may_begin(&settings, filesystem))
			return false;
		filesystem->fd = fcntl(kept, F_DUPFD_CLOEXEC, 0);
		run_pass(once, &settings, filesystem, result);
	}
	if (once->limit)
		g_warning("the pass over %s ended early, as %s; the next one goes on",
			  filesystem->mount_point, once->limit);
	once->limit = NULL;
	atomic_store(&once->stop, once->signal != 0);
	return true;
}

static void say_warnings(GPtrArray *warnings)
{
	for (guint i = 0; i < warnings->len; i++)
		g_warning("%s", (const char *)warnings->pdata[i]);
}

/* The filesystems to make passes over; NULL: none, and the reason was printed. */
static GPtrArray *find_filesystems(const Once *once)
{
	g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) missing = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) named = NULL;
	GPtrArray *filesystems;

	named_disks_check(once->config, warnings);
	named = once->settings->paths ? named_filesystem_replace(once->settings->paths)
				      : named_filesystem_paths(once->config, missing);
	say_warnings(warnings);
	say_warnings(missing);
	if (!named[0] && missing->len == 0) {
		g_critical("--once needs a PATH, or a configuration that names filesystems: a "
			   "mount point, a directory or a file on btrfs or XFS");
		return NULL;
	}

	filesystems = filesystems_find(named, &error);
	if (!filesystems)
		g_critical("%s", error->message);
	return filesystems;
}

int once_run(const Settings *settings, const Config *config, char *const *arguments)
{
	g_autoptr(DiskTable) disks = disk_table_new();
	Once once = {
		.settings = settings, .config = config, .arguments = arguments, .disks = disks
	};
	g_autoptr(GPtrArray) filesystems = find_filesystems(&once);
	g_autofree PassResult *results = NULL;
	ExitStatus status = EXIT_STATUS_DONE;
	size_t n_passes = 0;

	if (!filesystems)
		return EXIT_STATUS_USAGE;

	disk_table_configure(disks, config, settings);
	results = g_new0(PassResult, filesystems->len);
	while (n_passes < filesystems->len && !once.signal) {
		Filesystem *filesystem = filesystems->pdata[n_passes];
		PassResult *result = &results[n_passes];

		if (!work_on(&once, filesystem, result)) {
			g_ptr_array_remove_index(filesystems, n_passes);
			continue;
		}
		n_passes++;
		if (journal_is_written())
			journal_pass(filesystem->uuid, filesystem->mount_point, result);
		else if (result->error)
			g_critical("%s", result->error->message);
		else
			say_status(settings, filesystem, result);
		if (!result->error && !settings->quiet && !settings->json)
			print_text(settings, filesystem, result);
		write_metrics(&once, filesystems, results, n_passes);
		status = exit_status_worse(status, pass_exit_status(result));
	}

	if (settings->json)
		print_json(settings, filesystems, results, n_passes);
	for (size_t i = 0; i < n_passes; i++)
		pass_result_clear(&results[i]);
	g_free(once.metrics_file);
	g_free(once.state_directory);

	return once.signal ? EXIT_STATUS_SIGNAL + once.signal : (int)status;
}
