/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/service.h"

#include "daemon/exit-status.h"
#include "daemon/journal.h"
#include "daemon/manager.h"

#include <signal.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_event, sd_event_unref)

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	sd_notify(false, "STOPPING=1\nSTATUS=ending");
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
	/* Fed only if this loop goes round; without a watchdog nothing happens. */
	if (failed >= 0)
		failed = sd_event_set_watchdog(event, true);

	return failed;
}

int service_run(const Settings *settings, Config *config, char *const *arguments)
{
	g_autoptr(sd_event) event = NULL;
	g_autoptr(Manager) manager = NULL;
	g_autoptr(GError) error = NULL;
	int failed = sd_event_new(&event);

	if (failed >= 0)
		manager = manager_new(settings, config, arguments, event, &error);
	if (manager)
		failed = add_sources(event, manager);
	if (!manager || failed < 0) {
		g_critical("cannot start: %s", error ? error->message : g_strerror(-failed));
		return EXIT_STATUS_FAILED;
	}

	sd_notify(false, "READY=1");
	return sd_event_loop(event);
}
