/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-objects.h"
#include "daemon/manager/manager.h"
#include "daemon/report/journal.h"

static int get_version(sd_bus *connection, const char *path, const char *interface,
		       const char *property, sd_bus_message *reply, void *data, sd_bus_error *error)
{
	return sd_bus_message_append(reply, "s", DEDUPD_VERSION);
}

#define FILESYSTEM_TYPE "(ssso)"

static int append_filesystem(sd_bus_message *reply, const void *one)
{
	ManagedView view = managed_filesystem_view(one);
	g_autofree char *path = bus_filesystem_path(view.uuid);
	g_autofree char *mount_point = bus_text(view.mount_point);

	return sd_bus_message_append(reply, FILESYSTEM_TYPE, view.uuid, mount_point,
				     managed_state_name(view.state), path);
}

static int on_list(sd_bus_message *message, void *data, sd_bus_error *error)
{
	return bus_reply_all(message, FILESYSTEM_TYPE, manager_filesystems(bus_manager(data)),
			     append_filesystem);
}

static int on_find(sd_bus_message *message, void *data, sd_bus_error *error)
{
	const char *name;
	const ManagedFilesystem *managed;
	g_autofree char *path = NULL;
	int failed = sd_bus_message_read(message, "s", &name);

	if (failed < 0)
		return failed;

	managed = manager_find(bus_manager(data), name);
	if (!managed)
		return sd_bus_error_setf(
			error, BUS_ERROR_UNKNOWN,
			"no mounted btrfs or XFS filesystem has the UUID, mount point or device %s",
			name);

	path = bus_filesystem_path(managed_filesystem_view(managed).uuid);
	return sd_bus_reply_method_return(message, "o", path);
}

#define DISK_TYPE "(sttbbbt)"

static int append_disk(sd_bus_message *reply, const void *one)
{
	const DiskView *disk = one;

	return sd_bus_message_append(reply, DISK_TYPE, disk->name, disk->rules.limits.bytes,
				     disk->rules.limits.requests, disk->rules.is_set,
				     disk->rules.makes_way, disk->rules.is_rotating,
				     disk->charged_bytes);
}

static int on_list_disks(sd_bus_message *message, void *bus, sd_bus_error *error)
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
					 "%s is not a disk of an enabled filesystem", name);

	g_message("the budget of %s is %" G_GUINT64_FORMAT " bytes and %" G_GUINT64_FORMAT
		  " requests per second (0: no limit)",
		  name, limits.bytes, limits.requests);
	return sd_bus_reply_method_return(message, "");
}

static int on_set_budget(sd_bus_message *message, void *bus, sd_bus_error *error)
{
	return bus_authorize(bus, message, ACCESS_CONTROL, do_set_budget, error);
}

static int do_reload(sd_bus_message *message, void *data, sd_bus_error *error)
{
	g_autoptr(GError) failure = NULL;

	if (!manager_reload(bus_manager(data), &failure)) {
		/* The journal explains it after 'systemctl reload', too. */
		journal_config_refused(failure);
		return sd_bus_error_set(error, BUS_ERROR_CONFIG, failure->message);
	}

	return sd_bus_reply_method_return(message, "");
}

static int on_reload(sd_bus_message *message, void *data, sd_bus_error *error)
{
	return bus_authorize(data, message, ACCESS_CONTROL, do_reload, error);
}

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
	SD_BUS_METHOD_WITH_ARGS("ListFilesystems", SD_BUS_NO_ARGS,
				SD_BUS_RESULT("a(ssso)", filesystems), on_list,
				SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("FindFilesystem", SD_BUS_ARGS("s", name), SD_BUS_RESULT("o", path),
				on_find, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("ListDisks", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(sttbbbt)", disks),
				on_list_disks, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("SetBudget", SD_BUS_ARGS("s", disk, "t", bytes, "t", requests),
				SD_BUS_NO_RESULT, on_set_budget, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, on_reload,
				SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_SIGNAL("FilesystemsChanged", "", 0),
	SD_BUS_VTABLE_END,
};

const sd_bus_vtable *bus_manager_vtable(void)
{
	return vtable;
}
