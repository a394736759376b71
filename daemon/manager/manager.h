/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "daemon/manager/managed-filesystem.h"

/*
 * Manager - owns the service's configuration, its table of mounts and its filesystems.
 *
 * Each btrfs and XFS that is mounted is known; those that the configuration names are worked on.
 * It looks at them when something changed, when the time has come that the schedule said, and once
 * a minute, at files of sysfs alone.
 *
 * Thread: main.
 */
typedef struct Manager Manager;

/*
 * @settings are those of the command line, @arguments, which win over the configuration; both are
 * borrowed, as is @loop.  @config is consumed.
 */
Manager *manager_new(const Settings *settings, Config *config, char *const *arguments,
		     MainLoop *loop, GError **error);

/* The listener for changes, which may ask about them at once. */
typedef struct {
	void (*changed)(ManagedFilesystem *managed, void *data); /* a filesystem's state changed */
	void (*list_changed)(void *data);                        /* filesystems came or went */
	void *data;
} ManagerListener;

/* Replaces the listener.  The manager copies @listener. */
void manager_listen(Manager *manager, const ManagerListener *listener);

/* Ask all passes to end, without waiting for that.  The listener is not called any more. */
void manager_end(Manager *manager);

/* Ends all passes as manager_end() does, and waits for that. */
void manager_free(Manager *manager);

/* Read the configuration anew.  If it is faulty nothing changes, and @error says where. */
bool manager_reload(Manager *manager, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Look soon whether anything is to be done, since something changed. */
void manager_look(Manager *manager);

/* The disks of all filesystems that are worked on, the manager's. */
DiskTable *manager_disks(const Manager *manager);

/* All that is known (ManagedFilesystem), the manager's. */
const GPtrArray *manager_filesystems(const Manager *manager);

/* The one with this UUID, or one mount of which is on this path.  NULL: there is none. */
ManagedFilesystem *manager_find(const Manager *manager, const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manager, manager_free)
