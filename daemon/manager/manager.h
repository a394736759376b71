/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "daemon/manager/managed-filesystem.h"

/*
 * Manager - owns the service's configuration, mount table and filesystems.
 *
 * It knows each mounted btrfs and XFS filesystem.  Passes run over those that the configuration names.  It looks at
 * them when something changed, at the time that the schedule named, and once a minute in sysfs.
 *
 * Thread: main.
 */
typedef struct Manager Manager;

/*
 * @settings, from the command line, and @arguments, which override the configuration, are borrowed.  @config is
 * consumed.
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

/* Ask all passes to end, without waiting.  The listener is not called any more. */
void manager_end(Manager *manager);

/* Asks all passes to end, and waits for them. */
void manager_free(Manager *manager);

/* Read the configuration again.  If it is faulty, nothing changes, and @error says where. */
bool manager_reload(Manager *manager, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Something changed: look soon whether a pass has to begin. */
void manager_look(Manager *manager);

/* The disks of all enabled filesystems, owned by the manager. */
DiskTable *manager_disks(const Manager *manager);

/* All known filesystems (ManagedFilesystem), owned by the manager. */
const GPtrArray *manager_filesystems(const Manager *manager);

/* The filesystem with this UUID, in the form of ManagedView; NULL: none. */
ManagedFilesystem *manager_find_uuid(const Manager *manager, const char *uuid);

/* The filesystem with this UUID, with a mount on this path, or with another name of the configuration.  NULL: none. */
ManagedFilesystem *manager_find(const Manager *manager, const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manager, manager_free)
