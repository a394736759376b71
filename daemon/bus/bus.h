/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/bus-names.h"
#include "daemon/manager/managed-filesystem.h"

/*
 * Bus - the service's interface: one set of objects (docs/org.dedupd1.xml) on two transports.
 *
 * The private socket needs no bus daemon, and the kernel tells who its peers are.  The system bus is used if there
 * is one, and joined again when its daemon was restarted (BusSystem).
 *
 * At most BUS_PEERS_MAX peers are served on the socket at a time.  Users other than root have
 * BUS_PEERS_OF_OTHERS_MAX of these, and one such user has BUS_PEERS_OF_USER_MAX.  The bus hangs up on further
 * peers.  It also hangs up on a peer that leaves more than BUS_BACKLOG_MAX signals unread, or sends a message
 * longer than BUS_OTHERS_MESSAGE_BYTES_MAX (root: BUS_OWN_MESSAGE_BYTES_MAX).
 *
 * Thread: main.
 */
typedef struct Bus Bus;
typedef struct Manager Manager;

#define BUS_PEERS_MAX           32
#define BUS_PEERS_OF_OTHERS_MAX 24
#define BUS_PEERS_OF_USER_MAX   8

/* The limit for callers with read access: their messages have at most the path of one filesystem. */
#define BUS_OTHERS_MESSAGE_BYTES_MAX (64 << 10)

/* Run with RUN_PATHS_MOST paths of the greatest length. */
#define BUS_OWN_MESSAGE_BYTES_MAX (5 << 20)

/*
 * @socket_fd listens already, for instance if systemd made it.  -1: make @socket_path, and replace a socket that
 * nobody listens on.  Without a system bus, only the socket serves.
 *
 * From then on the bus is the listener of @manager, and signals what changes.  While a pass runs, it signals the
 * progress once a second.
 */
Bus *bus_new(Manager *manager, MainLoop *loop, int socket_fd, const char *socket_path,
	     GError **error);

/* Call manager_end() before, so that the bus hears of no more changes. */
void bus_free(Bus *bus);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Bus, bus_free)
