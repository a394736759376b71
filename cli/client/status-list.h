/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/filesystem-status.h"

/*
 * StatusList - the filesystems that were asked for, with all that the running service and the stores say
 * of them.
 *
 * The service is asked unless --state-dir names stores.  Of what it knows that is left out which it does not
 * work on and which has no store, unless it was named.  What cannot be read is said on standard error.
 *
 * Thread: main.
 */
typedef struct {
	bool has_service;
	GPtrArray *
		all; /* FilesystemStatus: the service's in the order of their mounts, then others */
	GPtrArray *disks; /* DaemonDisk; NULL: there is no service */
	size_t n_stores;  /* met, readable or not */
	bool config_is_wrong;
	ExitStatus status;
} StatusList;

StatusList *status_list_read(const Options *options);
void status_list_free(StatusList *list);

/* What the service says of a disk; NULL: nothing. */
const DaemonDisk *status_list_disk(const StatusList *list, const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StatusList, status_list_free)
