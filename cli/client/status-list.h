/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/filesystem-status.h"

/*
 * StatusList - the requested filesystems, with all that the running service and the stores say of them.
 *
 * The service is asked unless --state-dir names stores.  A filesystem that is not enabled and has no store is
 * left out, unless it was named.  Read errors are printed on standard error.
 *
 * Thread: main.
 */
typedef struct {
	bool has_service;
	GPtrArray *
		all; /* FilesystemStatus: the service's in the order of their mounts, then others */
	GPtrArray *disks; /* DaemonDisk; NULL: there is no service */
	size_t n_stores;  /* found, readable or not */
	/* The configuration is refused, so that no command makes a pass.  One that the caller may not read is not. */
	bool config_is_wrong;
	ExitStatus status;
} StatusList;

StatusList *status_list_read(const Options *options);
void status_list_free(StatusList *list);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StatusList, status_list_free)
