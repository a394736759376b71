/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-filesystem.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/*
 * DaemonClient - the running dedupd, asked over its private socket, or over the system bus where
 * that cannot be reached or does not let the caller do what he wants (polkit may).
 *
 * Thread: main.
 */
typedef struct DaemonClient DaemonClient;

#define DAEMON_CLIENT_ERROR (daemon_client_error_quark())
GQuark daemon_client_error_quark(void);

typedef enum {
	DAEMON_CLIENT_ERROR_NOT_RUNNING,
	DAEMON_CLIENT_ERROR_REFUSED, /* it said no, and why */
	DAEMON_CLIENT_ERROR_GONE,    /* it knows it no more */
	DAEMON_CLIENT_ERROR_UNKNOWN, /* it has no such filesystem */
	DAEMON_CLIENT_ERROR_IN_USE,  /* a pass is in the way */
	DAEMON_CLIENT_ERROR_SILENT,  /* it did not answer, or does not know the question */
	DAEMON_CLIENT_ERROR_FAILED,
} DaemonClientError;

/* What it says of one disk; 0: no limit. */
typedef struct {
	char *name;
	uint64_t rate_bytes, rate_requests; /* per second */
	bool is_set, makes_way, is_rotating;
	uint64_t charged_bytes;
} DaemonDisk;

void daemon_disk_free(DaemonDisk *disk);

DaemonClient *daemon_client_connect(GError **error);
void daemon_client_close(DaemonClient *client);

/* All filesystems that it knows (DaemonFilesystem), in the order in which they were mounted. */
GPtrArray *daemon_client_list(DaemonClient *client, GError **error);

/* The one with this UUID or mount point. */
DaemonFilesystem *daemon_client_get(DaemonClient *client, const char *name, GError **error);

/* Call a method that takes nothing, of the filesystem with this UUID or mount point: "Start". */
bool daemon_client_call(DaemonClient *client, const char *name, const char *method, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Have it make no pass over the filesystem for so long. */
bool daemon_client_pause_for(DaemonClient *client, const char *name, uint64_t usec, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Have it make a pass over @paths alone, which lie on the filesystem @name; @wishes are "name=value" of
 * options of dedupd.  Both are NULL-terminated.
 */
bool daemon_client_run(DaemonClient *client, const char *name, char *const *paths,
		       char *const *wishes, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Hold the filesystem @name, saying @why: *@ret_fd is the lease, until it is closed.  Returns when no pass touches the
 * filesystem any more.
 */
bool daemon_client_hold(DaemonClient *client, const char *name, const char *why, int *ret_fd,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The report of the last pass over @name as JSON, to be freed with g_free(). */
char *daemon_client_report(DaemonClient *client, const char *name, GError **error);

/* All disks that it knows (DaemonDisk). */
GPtrArray *daemon_client_disks(DaemonClient *client, GError **error);

/* Have a disk keep to so much per second, until the service ends; 0: no limit. */
bool daemon_client_set_budget(DaemonClient *client, const char *disk, uint64_t bytes,
			      uint64_t requests, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * From now on have @changed called from @event when anything was told of filesystems, and @gone when the
 * service closed the connection.  What is asked after that is answered within seconds, or has failed.
 */
bool daemon_client_watch(DaemonClient *client, sd_event *event, void (*changed)(void *data),
			 void (*gone)(void *data), void *data, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Have it read its configuration anew. */
bool daemon_client_reload(DaemonClient *client, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DaemonClient, daemon_client_close)
