/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/bus/bus-access.h"
#include "daemon/bus/bus-queries.h"
#include "daemon/bus/bus.h"

/*
 * The objects on the bus, as tables of sd-bus; docs/org.dedupd1.xml describes them.
 *
 * The data of the manager's handlers is the Bus, that of a filesystem's a BusFilesystem.  Thread: main.
 */

/* The present properties of a filesystem, laid out for sd-bus.  Times are microseconds since 1970; 0: none. */
typedef struct BusFilesystem {
	Bus *bus;
	ManagedFilesystem *managed;
	const char *uuid, *kind, *mount_point, *state, *refusal, *waits_for, *stage;
	const char *last_outcome, *last_error, *wait_reason, *state_directory;
	char *const *disks;
	int is_paused, is_asked;
	bool may_inspect; /* names may be told */
	uint64_t waits_until_usec, deadline_usec, pass_started_usec;
	uint64_t stage_started_usec, stage_files, stage_bytes, stage_total_bytes, pass_freed_bytes;
	uint64_t last_started_usec, last_ended_usec, last_exit_status;
	uint64_t last_freed_bytes, last_shared_bytes, last_read_bytes;
	uint64_t passes, freed_bytes, read_bytes;
} BusFilesystem;

/* The sender on the connection. */
BusCaller bus_caller(const Bus *bus, const sd_bus *connection);

/* Do @action if the sender of @message may, now or later; see bus_access_run(). */
int bus_authorize(const Bus *bus, sd_bus_message *message, AccessLevel level, BusAction action,
		  sd_bus_error *error);

BusAccess *bus_access(const Bus *bus);
BusQueries *bus_queries(const Bus *bus);
Manager *bus_manager(const Bus *bus);
BusFilesystem *bus_shown(Bus *bus); /* the filesystem of the present query */

/* The object's path: "/org/dedupd1/filesystem/" and the UUID with _ for -. */
char *bus_filesystem_path(const char *uuid);

/* Reply with an array of @all; @append adds each as a struct of @type. */
int bus_reply_all(sd_bus_message *message, const char *type, const GPtrArray *all,
		  int (*append)(sd_bus_message *reply, const void *one));

/*
 * Reply to @message with @failure.  FILESYSTEM_ERROR_IN_USE has an error of its own on the bus; all others are
 * BUS_ERROR_UNSUITABLE.  If the connection is closed by now, nothing is sent.  Returns like a method handler of sd-bus.
 */
int bus_reply_failure(sd_bus_message *message, const GError *failure);

/*
 * @raw as a string of the bus, which must be UTF-8: other bytes are escaped like names of files.  To be freed with
 * g_free().
 */
char *bus_text(const char *raw);

const sd_bus_vtable *bus_manager_vtable(void);
const sd_bus_vtable *bus_filesystem_vtable(void);

/* Whether there is a filesystem with this path; for sd_bus_add_fallback_vtable(). */
int bus_filesystem_find(sd_bus *connection, const char *path, const char *interface, void *data,
			void **ret_found, sd_bus_error *error);

/* The paths of all filesystems; for sd_bus_add_node_enumerator(). */
int bus_filesystem_list(sd_bus *connection, const char *prefix, void *data, char ***ret_nodes,
			sd_bus_error *error);

/* Hold @managed as the message asks, and reply with the lease, now or later. */
int bus_hold_take(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
		  sd_bus_error *error);

/* The holders of a filesystem, as a property; @data is its BusFilesystem. */
#define BUS_HOLD_TYPE "(uuts)"
int bus_hold_get_all(sd_bus *connection, const char *path, const char *interface,
		     const char *property, sd_bus_message *reply, void *data, sd_bus_error *error);

/* The properties that change with what a filesystem does, or with the progress of its pass; NULL-terminated. */
char **bus_filesystem_changing(bool is_progress);
