/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-signals.h"

#include "common/text/bus-names.h"
#include "daemon/bus/bus-objects.h"

/*
 * Signals of a filesystem are sent at most this often, and those of TELL_MOST filesystems at a time.  Callers that
 * take and drop holds change one thousands of times a second, and a new configuration changes all of them at once.
 * A peer that only waits for the processor would then leave more unread than BUS_BACKLOG_MAX.
 */
#define TELL_USEC (G_USEC_PER_SEC / 20)
#define TELL_MOST 64

#define PROGRESS_USEC G_USEC_PER_SEC

struct BusSignals {
	/* Set at creation, never changed. */
	Manager *manager;
	void (*send)(const BusSignal *signal, void *data);
	void *data;

	GHashTable *known; /* UUIDs of the objects that callers know of */

	/* Changes that were not signalled yet. */
	GHashTable *changed; /* by UUID, whether only the progress of its pass changed */
	GQueue order;        /* of the same UUIDs, which it owns; the oldest first */
	sd_event_source *telling;
	sd_event_source *progress; /* on while a pass runs */
};

void bus_signal_send(const BusSignal *signal, sd_bus *connection)
{
	g_auto(GStrv) names = NULL;

	switch (signal->kind) {
	case BUS_SIGNAL_LIST:
		sd_bus_emit_signal(connection, signal->path, BUS_MANAGER_INTERFACE,
				   "FilesystemsChanged", "");
		break;
	case BUS_SIGNAL_ADDED:
		sd_bus_emit_object_added(connection, signal->path);
		break;
	case BUS_SIGNAL_REMOVED:
		/* sd_bus_emit_object_removed() would look for the object. */
		sd_bus_emit_interfaces_removed(connection, signal->path, BUS_FILESYSTEM_INTERFACE,
					       "org.freedesktop.DBus.Introspectable",
					       "org.freedesktop.DBus.Peer",
					       "org.freedesktop.DBus.Properties", NULL);
		break;
	case BUS_SIGNAL_CHANGED:
	case BUS_SIGNAL_PROGRESS:
		names = bus_filesystem_changing(signal->kind == BUS_SIGNAL_PROGRESS);
		sd_bus_emit_properties_changed_strv(connection, signal->path,
						    BUS_FILESYSTEM_INTERFACE, names);
		break;
	}
}

BusSignals *bus_signals_new(Manager *manager, void (*send)(const BusSignal *signal, void *data),
			    void *data)
{
	BusSignals *signals = g_new0(BusSignals, 1);
	const GPtrArray *all = manager_filesystems(manager);

	signals->manager = manager;
	signals->send = send;
	signals->data = data;
	signals->changed = g_hash_table_new(g_str_hash, g_str_equal);
	signals->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (size_t i = 0; i < all->len; i++)
		g_hash_table_add(signals->known,
				 g_strdup(managed_filesystem_view(all->pdata[i]).uuid));
	return signals;
}

void bus_signals_free(BusSignals *signals)
{
	if (!signals)
		return;

	sd_event_source_disable_unref(signals->telling);
	sd_event_source_disable_unref(signals->progress);
	g_hash_table_unref(signals->changed);
	g_hash_table_unref(signals->known);
	g_queue_clear_full(&signals->order, g_free);
	g_free(signals);
}

/* Signal a change, and whether the filesystem came or went since the last signal. */
static void tell(BusSignals *signals, const char *uuid, bool is_progress)
{
	g_autofree char *path = bus_filesystem_path(uuid);
	BusSignal signal = { path, is_progress ? BUS_SIGNAL_PROGRESS : BUS_SIGNAL_CHANGED };
	bool is_there = manager_find_uuid(signals->manager, uuid);

	if (is_there && g_hash_table_add(signals->known, g_strdup(uuid)))
		signal.kind = BUS_SIGNAL_ADDED;
	else if (!is_there && g_hash_table_remove(signals->known, uuid))
		signal.kind = BUS_SIGNAL_REMOVED;
	else if (!is_there)
		return;
	signals->send(&signal, signals->data);
}

/* Signal some changes, then none for a while. */
static int on_telling(sd_event_source *source, uint64_t usec, void *data)
{
	BusSignals *signals = data;

	if (g_queue_is_empty(&signals->order))
		return 0;

	for (unsigned n = 0; n < TELL_MOST && !g_queue_is_empty(&signals->order); n++) {
		g_autofree char *uuid = g_queue_pop_head(&signals->order);
		bool is_progress = g_hash_table_lookup(signals->changed, uuid);

		g_hash_table_remove(signals->changed, uuid);
		tell(signals, uuid, is_progress);
	}

	sd_event_source_set_time_relative(source, TELL_USEC);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void note(BusSignals *signals, const char *uuid, bool is_progress)
{
	gpointer key, was_progress;

	if (g_hash_table_lookup_extended(signals->changed, uuid, &key, &was_progress)) {
		is_progress = is_progress && was_progress;
	} else {
		key = g_strdup(uuid);
		g_queue_push_tail(&signals->order, key);
	}
	g_hash_table_insert(signals->changed, key, GINT_TO_POINTER(is_progress));
	sd_event_source_set_enabled(signals->telling, SD_EVENT_ONESHOT);
}

static void tell_progress_soon(BusSignals *signals)
{
	sd_event_source_set_time_relative(signals->progress, PROGRESS_USEC);
	sd_event_source_set_enabled(signals->progress, SD_EVENT_ONESHOT);
}

static int on_progress(sd_event_source *source, uint64_t usec, void *data)
{
	BusSignals *signals = data;
	const GPtrArray *all = manager_filesystems(signals->manager);
	bool is_running = false;

	for (size_t i = 0; i < all->len; i++) {
		ManagedView view = managed_filesystem_view(all->pdata[i]);

		if (!view.progress)
			continue;
		note(signals, view.uuid, true);
		is_running = true;
	}
	if (is_running)
		tell_progress_soon(signals);
	return 0;
}

int bus_signals_start(BusSignals *signals, sd_event *event, int64_t priority)
{
	int failed = sd_event_add_time(event, &signals->telling, CLOCK_MONOTONIC, 0, 1, on_telling,
				       signals);

	if (failed >= 0)
		failed = sd_event_source_set_priority(signals->telling, priority);
	if (failed >= 0)
		failed = sd_event_add_time(event, &signals->progress, CLOCK_MONOTONIC, 0, 0,
					   on_progress, signals);
	if (failed >= 0)
		failed = sd_event_source_set_priority(signals->progress, priority);
	return failed;
}

void bus_signals_changed(BusSignals *signals, const ManagedFilesystem *managed)
{
	ManagedView view = managed_filesystem_view(managed);

	note(signals, view.uuid, false);
	if (view.progress && sd_event_source_get_enabled(signals->progress, NULL) <= 0)
		tell_progress_soon(signals);
}

void bus_signals_list_changed(BusSignals *signals)
{
	const GPtrArray *all = manager_filesystems(signals->manager);
	GHashTableIter each;
	gpointer uuid;

	for (size_t i = 0; i < all->len; i++) {
		ManagedView view = managed_filesystem_view(all->pdata[i]);

		if (!g_hash_table_contains(signals->known, view.uuid))
			note(signals, view.uuid, false);
	}
	g_hash_table_iter_init(&each, signals->known);
	while (g_hash_table_iter_next(&each, &uuid, NULL))
		if (!manager_find_uuid(signals->manager, uuid))
			note(signals, uuid, false);
}
