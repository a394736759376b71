/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-filesystem.h"
#include "common/events/event.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DaemonClient - a connection to the running dedupd over its private socket.  It uses the system bus if the
 * socket cannot be reached, or does not let the caller do what he wants (polkit may).
 *
 * Thread: main.
 */
typedef struct DaemonClient DaemonClient;

#define DAEMON_CLIENT_ERROR (daemon_client_error_quark())
GQuark daemon_client_error_quark(void);

typedef enum {
	DAEMON_CLIENT_ERROR_NOT_RUNNING,
	DAEMON_CLIENT_ERROR_REFUSED, /* the service refused, and said why */
	DAEMON_CLIENT_ERROR_GONE,    /* the service no longer knows the filesystem */
	DAEMON_CLIENT_ERROR_UNKNOWN, /* the service has no such filesystem */
	DAEMON_CLIENT_ERROR_IN_USE,  /* a pass runs */
	DAEMON_CLIENT_ERROR_CROWDED, /* the service does too much for others; it may be asked again */
	DAEMON_CLIENT_ERROR_SILENT, /* the service did not answer, or does not know the method */
	DAEMON_CLIENT_ERROR_FAILED,
} DaemonClientError;

/* One disk, as the service reports it; 0: no limit. */
typedef struct {
	char *name;
	uint64_t rate_bytes, rate_requests; /* per second */
	bool is_set, makes_way, is_rotating;
	uint64_t charged_bytes;
} DaemonDisk;

void daemon_disk_free(DaemonDisk *disk);

DaemonClient *daemon_client_connect(GError **error);
void daemon_client_close(DaemonClient *client);

/*
 * All filesystems that the service knows (DaemonFilesystem), in the order in which they were mounted.  This is one
 * call, however many there are.
 */
GPtrArray *daemon_client_list(DaemonClient *client, GError **error);

/* The filesystem with this UUID or mount point. */
DaemonFilesystem *daemon_client_get(DaemonClient *client, const char *name, GError **error);

/* Call a method without arguments, such as "Start", of the filesystem with this UUID or mount point. */
bool daemon_client_call(DaemonClient *client, const char *name, const char *method, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Pause passes over the filesystem for @usec. */
bool daemon_client_pause_for(DaemonClient *client, const char *name, uint64_t usec, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * Start a pass over @paths alone, which lie on the filesystem @name.  @wishes are options of dedupd as
 * "name=value".  Both arrays are NULL-terminated.
 */
bool daemon_client_run(DaemonClient *client, const char *name, char *const *paths,
		       char *const *wishes, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Hold the filesystem @name for the reason @why.  *@ret_fd is the lease, until it is closed.  Returns when no
 * pass touches the filesystem any more.
 */
bool daemon_client_hold(DaemonClient *client, const char *name, const char *why, int *ret_fd,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * The text of the file that @method returns of the filesystem @name, to be freed with g_free().  "GetReport": the
 * report of the last pass as JSON.  "GetHistory": a line of JSON for each pass.
 */
char *daemon_client_text(DaemonClient *client, const char *name, const char *method,
			 GError **error);

/* All disks that the service knows (DaemonDisk). */
GPtrArray *daemon_client_disks(DaemonClient *client, GError **error);

/* Limit a disk to @bytes and @requests per second until the service ends; 0: no limit. */
bool daemon_client_set_budget(DaemonClient *client, const char *disk, uint64_t bytes,
			      uint64_t requests, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * From now on, call @changed from @event when the service reports a change of filesystems, other than the progress
 * of a pass, and @gone when the service closed the connection.  Later requests are answered within seconds, or fail.
 */
bool daemon_client_watch(DaemonClient *client, sd_event *event, void (*changed)(void *data),
			 void (*gone)(void *data), void *data, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Make the service read its configuration again. */
bool daemon_client_reload(DaemonClient *client, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DaemonClient, daemon_client_close)
