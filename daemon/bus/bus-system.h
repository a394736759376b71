/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

/*
 * BusSystem - the connection to the system bus, on which the service has its name.
 *
 * A machine without a system bus is no error: containers have none.  If the bus daemon ends after the service got its
 * name, the bus is joined again as soon as it is back, however long that takes.  Tries are up to BUS_SYSTEM_RETRY_USEC_MAX
 * apart.
 *
 * Calls that are too long are refused before sd-bus processes them.  None is answered while the bus daemon takes no
 * answers.
 *
 * Thread: main.
 */
typedef struct BusSystem BusSystem;

#define BUS_SYSTEM_RETRY_USEC_MIN (UINT64_C(100) * 1000)
#define BUS_SYSTEM_RETRY_USEC_MAX (UINT64_C(10) * G_USEC_PER_SEC)

typedef struct {
	/* Add the objects to a new connection; below 0: a negative errno. */
	int (*add_objects)(void *data, sd_bus *connection);
	/* The connection is about to be closed. */
	void (*lost)(void *data, sd_bus *connection);
	void *data;
} BusSystemListener;

/* @priority is that of the connection in the event loop. */
BusSystem *bus_system_new(sd_event *event, int64_t priority, const BusSystemListener *listener);
void bus_system_free(BusSystem *system);

/* The present connection; NULL: there is none. */
sd_bus *bus_system_connection(const BusSystem *system);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BusSystem, bus_system_free)
