/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/mount-monitor.h"

#include "daemon/manager/main-loop.h"

#include <libmount.h>

struct MountMonitor {
	struct libmnt_monitor *monitor;
	sd_event_source *source;
	void (*changed)(void *data);
	void *data;
};

static int on_change(sd_event_source *source, int fd, uint32_t events, void *data)
{
	MountMonitor *monitor = data;

	mnt_monitor_event_cleanup(monitor->monitor);
	monitor->changed(monitor->data);
	return 0;
}

MountMonitor *mount_monitor_new(sd_event *event, void (*changed)(void *data), void *data,
				GError **error)
{
	g_autoptr(MountMonitor) monitor = g_new0(MountMonitor, 1);
	int fd = -1, failed;

	monitor->changed = changed;
	monitor->data = data;
	monitor->monitor = mnt_new_monitor();
	failed = mnt_monitor_enable_kernel(monitor->monitor, 1);
	if (failed >= 0)
		failed = fd = mnt_monitor_get_fd(monitor->monitor);
	if (failed >= 0)
		failed = sd_event_add_io(event, &monitor->source, fd, EPOLLIN, on_change, monitor);
	if (failed >= 0)
		return g_steal_pointer(&monitor);

	main_loop_failed(failed, "watch mounts", error);
	return NULL;
}

void mount_monitor_free(MountMonitor *monitor)
{
	if (!monitor)
		return;

	sd_event_source_unref(monitor->source);
	mnt_unref_monitor(monitor->monitor);
	g_free(monitor);
}
