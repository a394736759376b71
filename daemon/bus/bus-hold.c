/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-objects.h"
#include "daemon/manager/managed-hold.h"

#include <string.h>

/* If the connection is closed by now, nobody has the lease, and the hold ends. */
static void answer(int lease_fd, const GError *failure, void *data)
{
	sd_bus_message *message = data;

	if (failure)
		bus_reply_failure(message, failure);
	else
		sd_bus_reply_method_return(message, "h", lease_fd);
	sd_bus_message_unref(message);
}

int bus_hold_take(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
		  sd_bus_error *error)
{
	uid_t uid = bus_access_actor(bus_access(bus));
	ManagedHold hold = {
		.uid = uid,
		.is_own = bus_access_is_own(uid),
		.pid = bus_caller(bus, sd_bus_message_get_bus(message)).pid,
	};
	int failed = sd_bus_message_read(message, "s", &hold.why);

	if (failed < 0)
		return failed;
	if (strlen(hold.why) > MANAGED_HOLD_WHY_BYTES_MAX)
		return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					 "why it is held may take %d bytes",
					 MANAGED_HOLD_WHY_BYTES_MAX);
	if (!managed_holds_have_room(managed_filesystem_holds(managed), &hold))
		return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					"too many hold the filesystem");

	managed_holds_add(managed_filesystem_holds(managed), &hold, answer,
			  sd_bus_message_ref(message));
	return 1;
}

int bus_hold_get_all(sd_bus *connection, const char *path, const char *interface,
		     const char *property, sd_bus_message *reply, void *data, sd_bus_error *error)
{
	const BusFilesystem *shown = data;
	const ManagedHolds *holds = managed_filesystem_holds(shown->managed);
	size_t n = managed_holds_count(holds);
	int failed = sd_bus_message_open_container(reply, 'a', BUS_HOLD_TYPE);

	for (size_t i = 0; i < n && failed >= 0; i++) {
		ManagedHold hold = managed_holds_get(holds, i);

		failed = sd_bus_message_append(reply, BUS_HOLD_TYPE, (uint32_t)hold.uid,
					       (uint32_t)hold.pid, (uint64_t)hold.since_usec,
					       shown->may_inspect ? hold.why : "");
	}

	return failed < 0 ? failed : sd_bus_message_close_container(reply);
}
