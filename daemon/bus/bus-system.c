/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-system.h"

#include "common/text/bus-names.h"
#include "daemon/bus/bus-message.h"

/* GetManagedObjects has the longest answer, so few of them wait for the bus daemon. */
#define LONG_ANSWERS_MAX 16

#define OBJECT_MANAGER "org.freedesktop.DBus.ObjectManager"

/* Answers to RequestName(), in the D-Bus specification. */
#define PRIMARY_OWNER 1
#define ALREADY_OWNER 4

struct BusSystem {
	/* Set at creation, never changed. */
	sd_event *event;
	int64_t priority;
	BusSystemListener listener;

	sd_bus *connection; /* NULL: there is none */
	bool had_name;      /* so the bus is joined again */
	sd_event_source *retry;
	uint64_t retry_usec; /* how long to wait before the next try */
};

static int on_message(sd_bus_message *message, void *data, sd_bus_error *unused)
{
	sd_bus *connection = sd_bus_message_get_bus(message);
	sd_bus_error error = SD_BUS_ERROR_NULL;

	if (sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
		return 0;
	if (bus_message_is_behind(connection, BUS_BACKLOG_MAX))
		return 1;
	if (bus_message_is_behind(connection, LONG_ANSWERS_MAX) &&
	    sd_bus_message_is_method_call(message, OBJECT_MANAGER, NULL) > 0)
		sd_bus_error_set(&error, SD_BUS_ERROR_LIMITS_EXCEEDED,
				 "too many answers wait for the bus: ask again");
	else if (bus_message_check(message, &error) >= 0)
		return 0;

	sd_bus_reply_method_error(message, &error);
	sd_bus_error_free(&error);
	return 1;
}

static void leave(BusSystem *system)
{
	sd_bus *connection = g_steal_pointer(&system->connection);

	if (!connection)
		return;

	system->listener.lost(system->listener.data, connection);
	sd_bus_close_unref(connection);
}

/* Leave the bus; if the service had its name there, try again later. */
static void leave_for_now(BusSystem *system)
{
	leave(system);
	if (!system->had_name)
		return;

	sd_event_source_set_time_relative(system->retry, system->retry_usec);
	sd_event_source_set_enabled(system->retry, SD_EVENT_ONESHOT);
	system->retry_usec = MIN(2 * system->retry_usec, BUS_SYSTEM_RETRY_USEC_MAX);
}

static int on_gone(sd_bus_message *message, void *data, sd_bus_error *error)
{
	BusSystem *system = data;

	/* Not again for each try that fails. */
	if (system->had_name && system->retry_usec == BUS_SYSTEM_RETRY_USEC_MIN)
		g_message("the system bus is gone; it is joined again when it is back");
	leave_for_now(system);
	return 0;
}

static bool is_owner(sd_bus_message *reply)
{
	uint32_t answer;

	return !sd_bus_message_is_method_error(reply, NULL) &&
	       sd_bus_message_read(reply, "u", &answer) > 0 &&
	       (answer == PRIMARY_OWNER || answer == ALREADY_OWNER);
}

/* Others may not find the service without the name, so it does not stay. */
static int on_name(sd_bus_message *reply, void *data, sd_bus_error *error)
{
	BusSystem *system = data;

	if (!is_owner(reply)) {
		g_debug("the system bus does not give us our name");
		leave_for_now(system);
		return 0;
	}

	if (system->had_name)
		g_message("joined the system bus again");
	system->had_name = true;
	system->retry_usec = BUS_SYSTEM_RETRY_USEC_MIN;
	return 0;
}

static int join(BusSystem *system)
{
	int failed = sd_bus_open_system(&system->connection);
	sd_bus *connection = system->connection;

	if (failed >= 0)
		failed = sd_bus_set_exit_on_disconnect(connection, false);
	/* Otherwise closing would wait until the bus daemon reads. */
	if (failed >= 0)
		failed = sd_bus_set_close_on_exit(connection, false);
	if (failed >= 0)
		failed = system->listener.add_objects(system->listener.data, connection);
	if (failed >= 0)
		failed = sd_bus_add_filter(connection, NULL, on_message, system);
	if (failed >= 0)
		failed = sd_bus_match_signal_async(connection, NULL, "org.freedesktop.DBus.Local",
						   "/org/freedesktop/DBus/Local",
						   "org.freedesktop.DBus.Local", "Disconnected",
						   on_gone, NULL, system);
	if (failed >= 0)
		failed = sd_bus_request_name_async(connection, NULL, BUS_NAME, 0, on_name, system);
	if (failed >= 0)
		failed = sd_bus_attach_event(connection, system->event, (int)system->priority);
	return failed;
}

static void try_to_join(BusSystem *system)
{
	int failed = join(system);

	if (failed >= 0)
		return;

	g_debug("no system bus: %s", g_strerror(-failed));
	leave_for_now(system);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *data)
{
	try_to_join(data);
	return 0;
}

BusSystem *bus_system_new(sd_event *event, int64_t priority, const BusSystemListener *listener)
{
	BusSystem *system = g_new0(BusSystem, 1);

	system->event = sd_event_ref(event);
	system->priority = priority;
	system->listener = *listener;
	system->retry_usec = BUS_SYSTEM_RETRY_USEC_MIN;
	if (sd_event_add_time(event, &system->retry, CLOCK_MONOTONIC, 0, 0, on_retry, system) < 0 ||
	    sd_event_source_set_enabled(system->retry, SD_EVENT_OFF) < 0 ||
	    sd_event_source_set_priority(system->retry, priority) < 0)
		g_debug("the system bus will not be joined again");
	try_to_join(system);
	return system;
}

void bus_system_free(BusSystem *system)
{
	if (!system)
		return;

	sd_event_source_disable_unref(system->retry);
	leave(system);
	sd_event_unref(system->event);
	g_free(system);
}

sd_bus *bus_system_connection(const BusSystem *system)
{
	return system ? system->connection : NULL;
}
