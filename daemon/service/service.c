/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/service/service.h"

#include "common/events/supervisor.h"
#include "common/text/exit-status.h"
#include "daemon/bus/bus.h"
#include "daemon/manager/manager.h"
#include "daemon/report/journal.h"

#include <signal.h>

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	return sd_event_exit(sd_event_source_get_event(source), EXIT_STATUS_DONE);
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	g_autoptr(GError) error = NULL;

	if (!manager_reload(data, &error))
		journal_config_refused(error);
	return 0;
}

static int add_sources(sd_event *event, Manager *manager)
{
	int failed = sd_event_add_signal(event, NULL, SIGTERM, on_end, manager);

	if (failed >= 0)
		failed = sd_event_add_signal(event, NULL, SIGINT, on_end, manager);
	if (failed >= 0)
		failed = sd_event_add_signal(event, NULL, SIGHUP, on_reload, manager);
	/* The loop feeds the watchdog; without one, nothing happens. */
	if (failed >= 0)
		failed = sd_event_set_watchdog(event, true);

	return failed;
}

/* The socket that systemd listens on for the service; -1: none. */
static int inherited_socket(void)
{
	return sd_listen_fds(true) == 1 &&
			       sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_STREAM, 1, NULL, 0) > 0
		       ? SD_LISTEN_FDS_START
		       : -1;
}

static Bus *open_bus(Manager *manager, MainLoop *loop, GError **error)
{
	const char *path = g_getenv(BUS_SOCKET_VARIABLE);

	return bus_new(manager, loop, inherited_socket(), path ? path : BUS_SOCKET, error);
}

int service_run(const Settings *settings, Config *config, char *const *arguments)
{
	g_autoptr(MainLoop) loop = NULL;
	g_autoptr(Manager) manager = NULL;
	g_autoptr(GError) error = NULL;
	Bus *bus = NULL;
	int failed = 0;

	loop = main_loop_new(&error);
	if (loop)
		manager = manager_new(settings, config, arguments, loop, &error);
	if (manager)
		bus = open_bus(manager, loop, &error);
	if (bus)
		failed = add_sources(loop->event, manager);
	if (!bus || failed < 0) {
		g_critical("cannot start: %s", error ? error->message : g_strerror(-failed));
		failed = EXIT_STATUS_FAILED;
	} else {
		sd_notify(false, "READY=1");
		failed = sd_event_loop(loop->event);
	}
	if (failed < 0) {
		g_critical("the event loop failed: %s", g_strerror(-failed));
		failed = EXIT_STATUS_FAILED;
	}

	/* All passes end at the same time; without the bus, main waits for them. */
	if (bus) {
		sd_notify(false, "STOPPING=1\nSTATUS=ending");
		manager_end(manager);
		bus_free(bus);
	}
	return failed;
}
