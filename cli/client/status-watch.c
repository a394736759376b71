/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/status-watch.h"

#include "cli/client/daemon-client.h"
#include "cli/client/watch-samples.h"
#include "cli/client/watch-screen.h"
#include "cli/terminal/full-screen.h"
#include "cli/terminal/message.h"
#include "cli/terminal/terminal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define IS_GONE      "dedupd does not run any more"
#define REFUSED_MOST 10

typedef struct {
	const Options *options;
	DaemonClient *client;
	sd_event *event;
	sd_event_source *timer;
	sd_event_source *again; /* looks, after all reports are taken */
	FullScreen *screen;     /* NULL: not a terminal, or a dumb one */
	WatchSamples samples;
	unsigned n_refused; /* in a row */
	char *shown;        /* last output; NULL: none is on the screen */
	ExitStatus status;
} StatusWatch;

static void status_watch_clear(StatusWatch *watch)
{
	g_clear_pointer(&watch->screen, full_screen_free);
	sd_event_source_unref(watch->again);
	sd_event_source_unref(watch->timer);
	daemon_client_close(watch->client);
	sd_event_unref(watch->event);
	g_free(watch->shown);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StatusWatch, status_watch_clear)

static void end(StatusWatch *watch, ExitStatus status)
{
	watch->status = status;
	sd_event_exit(watch->event, 0);
}

static void fail(StatusWatch *watch, ExitStatus status, const char *why)
{
	g_clear_pointer(&watch->screen, full_screen_free);
	message_print("%s", why);
	end(watch, status);
}

/* The filesystems to show: those named, or all that are enabled. */
static void keep_shown(const StatusWatch *watch, GPtrArray *all)
{
	char *const *names = watch->options->names;

	for (guint i = all->len; i > 0; i--) {
		const DaemonFilesystem *filesystem = all->pdata[i - 1];

		if (names ? !daemon_filesystem_is_any(filesystem, names, NULL)
			  : strcmp(filesystem->state, "disabled") == 0)
			g_ptr_array_remove_index(all, i - 1);
	}
}

static void take_sample(StatusWatch *watch, const GPtrArray *all, const GPtrArray *disks)
{
	uint64_t read_bytes = 0, freed_bytes = 0;

	for (guint i = 0; i < disks->len; i++)
		read_bytes += ((const DaemonDisk *)disks->pdata[i])->charged_bytes;
	for (guint i = 0; i < all->len; i++) {
		const DaemonFilesystem *filesystem = all->pdata[i];

		freed_bytes += filesystem->freed_bytes + filesystem->pass_freed_bytes;
	}
	watch_samples_add(&watch->samples, g_get_monotonic_time(), read_bytes, freed_bytes);
}

static void show(StatusWatch *watch, const GPtrArray *all)
{
	const WatchView view = {
		.all = all,
		.samples = &watch->samples,
		.now_usec = g_get_real_time(),
		.width = terminal_width(),
		.height = watch->screen ? terminal_height() : 0,
		.utf8 = terminal_takes_utf8(),
		.coloured = terminal_takes_colours(),
		.in_bytes = watch->options->bytes,
	};
	g_auto(GStrv) lines = watch_screen_lines(&view);
	char *text = g_strjoinv("\n", lines);

	if (g_strcmp0(text, watch->shown) != 0 && watch->screen)
		full_screen_draw(watch->screen, lines);
	else if (g_strcmp0(text, watch->shown) != 0)
		printf("%s%s\n", watch->shown ? "\n" : "", text);
	g_free(watch->shown);
	watch->shown = text;
	if (fflush(stdout) != 0)
		end(watch, EXIT_STATUS_FAILED);
}

/* Ask again after the interval, while a pass runs. */
static void set_timer(StatusWatch *watch, bool is_busy)
{
	uint64_t interval_usec = (uint64_t)(watch->options->interval * G_USEC_PER_SEC);

	sd_event_source_set_enabled(watch->timer, is_busy ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
	if (is_busy)
		sd_event_source_set_time_relative(watch->timer, interval_usec);
	else
		watch_samples_pause(&watch->samples);
}

/*
 * A service that is about to end refuses requests and then closes the connection, which is reported.  So ask
 * again before a refusal counts.
 */
static void bear_refusal(StatusWatch *watch, const GError *error)
{
	if (g_error_matches(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_FAILED))
		fail(watch, EXIT_STATUS_NEEDS_DAEMON, IS_GONE);
	else if (++watch->n_refused >= REFUSED_MOST)
		fail(watch, EXIT_STATUS_FAILED, error->message);
	else
		set_timer(watch, true);
}

static void look(StatusWatch *watch, bool is_sample)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) all = daemon_client_list(watch->client, &error);
	g_autoptr(GPtrArray) disks = all ? daemon_client_disks(watch->client, &error) : NULL;

	if (!disks) {
		bear_refusal(watch, error);
		return;
	}
	watch->n_refused = 0;

	keep_shown(watch, all);
	/* If something changed in between, the interval continues. */
	if (is_sample || watch->samples.taken_usec == 0) {
		take_sample(watch, all, disks);
		set_timer(watch, watch_screen_is_busy(all));
	}
	show(watch, all);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *data)
{
	look(data, true);
	return 0;
}

static int on_again(sd_event_source *source, void *data)
{
	look(data, false);
	return 0;
}

static void on_changed(void *data)
{
	StatusWatch *watch = data;

	sd_event_source_set_enabled(watch->again, SD_EVENT_ONESHOT);
}

static void on_gone(void *data)
{
	fail(data, EXIT_STATUS_NEEDS_DAEMON, IS_GONE);
}

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	end(data, (ExitStatus)(EXIT_STATUS_SIGNAL + info->ssi_signo));
	return 0;
}

static int on_resize(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	StatusWatch *watch = data;

	if (watch->screen)
		g_clear_pointer(&watch->shown, g_free);
	on_changed(watch);
	return 0;
}

/* Give the terminal back while the program is stopped. */
static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	StatusWatch *watch = data;

	if (watch->screen)
		full_screen_leave(watch->screen);
	raise(SIGSTOP);
	if (watch->screen)
		full_screen_enter(watch->screen);
	return on_resize(source, info, watch);
}

static int on_key(sd_event_source *source, int fd, uint32_t events, void *data)
{
	char keys[64];
	ssize_t n_keys = read(fd, keys, sizeof(keys));

	if (n_keys <= 0)
		return sd_event_source_set_enabled(source, SD_EVENT_OFF);
	if (memchr(keys, 'q', (size_t)n_keys))
		end(data, EXIT_STATUS_DONE);
	return 0;
}

static int add_signals(StatusWatch *watch)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	int failed = 0;
	sigset_t all;

	sigemptyset(&all);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		sigaddset(&all, ends[i]);
	sigaddset(&all, SIGWINCH);
	sigaddset(&all, SIGTSTP);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(ends) && failed >= 0; i++)
		failed = sd_event_add_signal(watch->event, NULL, ends[i], on_end, watch);
	if (failed >= 0)
		failed = sd_event_add_signal(watch->event, NULL, SIGWINCH, on_resize, watch);
	if (failed >= 0)
		failed = sd_event_add_signal(watch->event, NULL, SIGTSTP, on_stop, watch);
	return failed;
}

static int prepare(StatusWatch *watch)
{
	int failed = sd_event_new(&watch->event);

	if (failed >= 0)
		failed = add_signals(watch);
	if (failed >= 0)
		failed = sd_event_add_time(watch->event, &watch->timer, CLOCK_MONOTONIC, 0, 0,
					   on_timer, watch);
	if (failed >= 0)
		failed = sd_event_source_set_enabled(watch->timer, SD_EVENT_OFF);
	if (failed >= 0)
		failed = sd_event_add_defer(watch->event, &watch->again, on_again, watch);
	if (failed >= 0 && full_screen_can_be() && isatty(STDIN_FILENO))
		failed = sd_event_add_io(watch->event, NULL, STDIN_FILENO, EPOLLIN, on_key, watch);
	return failed;
}

static bool connect_to_service(StatusWatch *watch, GError **error)
{
	watch->client = daemon_client_connect(error);
	return watch->client &&
	       daemon_client_watch(watch->client, watch->event, on_changed, on_gone, watch, error);
}

/* Report unknown names before the page is entered. */
static bool names_are_known(const StatusWatch *watch, GError **error)
{
	g_autoptr(GPtrArray) all = daemon_client_list(watch->client, error);

	for (char **name = watch->options->names; all && name && *name; name++) {
		if (daemon_filesystem_find(all, *name))
			continue;
		g_set_error(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_UNKNOWN,
			    "the service knows no filesystem %s", *name);
		return false;
	}

	return all;
}

ExitStatus status_watch_run(const Options *options)
{
	g_auto(StatusWatch) watch = { .options = options, .status = EXIT_STATUS_DONE };
	g_autoptr(GError) error = NULL;
	int failed = prepare(&watch);

	if (failed < 0)
		return message_fail(EXIT_STATUS_FAILED, "cannot wait for anything: %s",
				    g_strerror(-failed));
	if (!connect_to_service(&watch, &error) || !names_are_known(&watch, &error)) {
		message_print("%s", error->message);
		return g_error_matches(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_NOT_RUNNING)
			       ? EXIT_STATUS_NEEDS_DAEMON
			       : EXIT_STATUS_FAILED;
	}

	if (full_screen_can_be())
		watch.screen = full_screen_new();
	sd_event_loop(watch.event);
	return watch.status;
}
