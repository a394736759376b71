/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/events/event.h"

#include <glib.h>

/*
 * MountMonitor - tells when something was mounted, remounted or unmounted (libmount's monitor of
 * /proc/self/mountinfo).
 *
 * Thread: main.
 */
typedef struct MountMonitor MountMonitor;

/* @changed is called once for changes that come together.  The caller looks up the changes. */
MountMonitor *mount_monitor_new(sd_event *event, void (*changed)(void *data), void *data,
				GError **error);
void mount_monitor_free(MountMonitor *monitor);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountMonitor, mount_monitor_free)
