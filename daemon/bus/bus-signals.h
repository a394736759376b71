/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/manager.h"

#include <systemd/sd-bus.h>

/*
 * BusSignals - the changes of filesystems that are to be signalled, and when.
 *
 * A change is signalled at once, unless others were signalled just now.  Further changes wait in a queue, where
 * several of one filesystem become one.  While a pass runs, its progress is signalled once a second.  A filesystem
 * is signalled as an added object, a removed one, or a changed one, by comparison with what callers know.
 *
 * Thread: main.
 */
typedef struct BusSignals BusSignals;

/* A signal about one object. */
typedef struct {
	const char *path;
	enum {
		BUS_SIGNAL_LIST, /* of the manager: filesystems came or went */
		BUS_SIGNAL_ADDED,
		BUS_SIGNAL_REMOVED,
		BUS_SIGNAL_CHANGED,
		BUS_SIGNAL_PROGRESS, /* changed in the progress of its pass alone */
	} kind;
} BusSignal;

/* Send the signal on one connection. */
void bus_signal_send(const BusSignal *signal, sd_bus *connection);

/* @send has to send a signal to all callers.  The present objects need no signal: nobody has asked yet. */
BusSignals *bus_signals_new(Manager *manager, void (*send)(const BusSignal *signal, void *data),
			    void *data);
void bus_signals_free(BusSignals *signals);

/* Send from @event.  Returns a negative errno if that cannot be done. */
int bus_signals_start(BusSignals *signals, sd_event *event, int64_t priority);

/* Properties of the filesystem changed. */
void bus_signals_changed(BusSignals *signals, const ManagedFilesystem *managed);

/* Filesystems came or went. */
void bus_signals_list_changed(BusSignals *signals);
