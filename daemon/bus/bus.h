/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/bus-names.h"
#include "daemon/bus/bus-access.h"
#include "daemon/bus/bus-queries.h"
#include "daemon/manager/managed-filesystem.h"

/*
 * Bus - how the service is asked and told: one set of objects (docs/org.dedupd1.xml) on two
 * transports.
 *
 * The private socket needs no bus daemon, and knows its peers by the kernel's word; the system bus
 * is used if there is one.  At most BUS_PEERS_MAX peers are served on the socket at a time.  Users other than root
 * have BUS_PEERS_OF_OTHERS_MAX of these, and one such user has BUS_PEERS_OF_USER_MAX.  A peer beyond that is hung
 * up on, and so is one that leaves more than BUS_BACKLOG_MAX signals unread, or sends a longer message than
 * BUS_OTHERS_MESSAGE_BYTES_MAX (root: BUS_OWN_MESSAGE_BYTES_MAX).
 *
 * Thread: main.
 */
typedef struct Bus Bus;
typedef struct Manager Manager;

#define BUS_PEERS_MAX           32
#define BUS_PEERS_OF_OTHERS_MAX 24
#define BUS_PEERS_OF_USER_MAX   8
#define BUS_BACKLOG_MAX         256

/* Callers with read access only: their messages name a filesystem at most, by a path. */
#define BUS_OTHERS_MESSAGE_BYTES_MAX (64 << 10)

/* Run with as many paths as it takes (RUN_PATHS_MOST), each as long as one can be. */
#define BUS_OWN_MESSAGE_BYTES_MAX (5 << 20)

/*
 * @socket_fd listens already, as when systemd has made it; -1: @socket_path is made, which
 * replaces a socket that nobody listens on.  Without a system bus there is the socket alone.
 */
Bus *bus_new(Manager *manager, MainLoop *loop, int socket_fd, const char *socket_path,
	     GError **error);
void bus_free(Bus *bus);

/* Tell who listens that properties of the filesystem changed, soon: many changes are told of as one. */
void bus_filesystem_changed(Bus *bus, const ManagedFilesystem *managed);

/* Tell that filesystems came or went. */
void bus_filesystems_changed(Bus *bus);

/* The object's path: "/org/dedupd1/filesystem/" and the UUID with _ for -. */
char *bus_filesystem_path(const char *uuid);

/* For the objects: who speaks on the connection, and the manager that all objects belong to. */
BusCaller bus_caller(const Bus *bus, const sd_bus *connection);
BusAccess *bus_access(const Bus *bus);
BusQueries *bus_queries(const Bus *bus);
Manager *bus_manager(const Bus *bus);
struct BusFilesystem *
bus_shown(Bus *bus); /* where the filesystem that is asked about is laid out */

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Bus, bus_free)
