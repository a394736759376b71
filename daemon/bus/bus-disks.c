/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-disks.h"

#include "daemon/bus/bus-objects.h"
#include "daemon/manager/manager.h"

#define DISK_TYPE "(sttbbbt)"

static int append_disk(sd_bus_message *reply, const void *one)
{
	const DiskView *disk = one;

	return sd_bus_message_append(reply, DISK_TYPE, disk->name, disk->rules.limits.bytes,
				     disk->rules.limits.requests, disk->rules.is_set,
				     disk->rules.makes_way, disk->rules.is_rotating,
				     disk->charged_bytes);
}

int bus_disks_list(sd_bus_message *message, void *bus, sd_bus_error *error)
{
	g_autoptr(GPtrArray) all = disk_table_views(manager_disks(bus_manager(bus)));

	return bus_reply_all(message, DISK_TYPE, all, append_disk);
}

static int do_set_budget(sd_bus_message *message, void *bus, sd_bus_error *error)
{
	DiskTable *disks = manager_disks(bus_manager(bus));
	DiskLimits limits;
	const char *name;
	int failed = sd_bus_message_read(message, "stt", &name, &limits.bytes, &limits.requests);

	if (failed < 0)
		return failed;
	if (!disk_table_set_limits(disks, name, &limits))
		return sd_bus_error_setf(error, BUS_ERROR_UNKNOWN_DISK,
					 "%s is no disk of a filesystem that is looked after",
					 name);

	g_message("the budget of %s is %" G_GUINT64_FORMAT " bytes and %" G_GUINT64_FORMAT
		  " requests per second (0: no limit)",
		  name, limits.bytes, limits.requests);
	return sd_bus_reply_method_return(message, "");
}

int bus_disks_set_budget(sd_bus_message *message, void *bus, sd_bus_error *error)
{
	return bus_authorize(bus, message, ACCESS_CONTROL, do_set_budget, error);
}
