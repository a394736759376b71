/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/managed-mount.h"

#include <string.h>
#include <sys/sysmacros.h>

void managed_mount_set(ManagedMount *mount, const MountedFilesystem *mounted)
{
	const MountPoint *first;

	mount->is_mounted = mounted;
	g_clear_pointer(&mount->refusal, g_free);
	if (!mounted)
		return;

	mount->identity = mounted->identity;
	mount->device = makedev(mounted->major, mounted->minor);
	mount->refusal = g_strdup(mounted->refusal);
	g_strfreev(mount->targets);
	mount->targets = mounted_filesystem_ways(mounted);
	first = mounted->mount_points->pdata[0];
	g_free(mount->mount_point);
	mount->mount_point = g_strdup(mount->targets[0] ? mount->targets[0] : first->target);
}

FsLocation managed_mount_location(const ManagedMount *mount)
{
	FsLocation location = {
		.is_btrfs = mount->identity.kind == FS_KIND_BTRFS,
		.major = major(mount->device),
		.minor = minor(mount->device),
	};

	memcpy(location.fsid, mount->identity.fsid, FS_UUID_BYTES);
	return location;
}

void managed_mount_find_disks(ManagedMount *mount, const DiskTopology *topology, DiskTable *table)
{
	const FsLocation location = managed_mount_location(mount);

	g_clear_pointer(&mount->lies_on, g_ptr_array_unref);
	mount->lies_on = disk_topology_find(topology, &location);
	disk_table_add(table, mount->lies_on);
	g_strfreev(mount->disk_names);
	mount->disk_names = disks_names(mount->lies_on);
}

Filesystem *managed_mount_take(const ManagedMount *mount, const char *uuid, GPtrArray *found,
			       GError **error)
{
	const Filesystem *filesystem = found->len == 1 ? found->pdata[0] : NULL;

	if (filesystem && strcmp(filesystem->uuid, uuid) == 0 &&
	    filesystem_may_be_on(filesystem, mount->device))
		return g_ptr_array_steal_index(found, 0);

	g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_PATH,
		    "%s shows another filesystem now", mount->mount_point);
	return NULL;
}

void managed_mount_clear(ManagedMount *mount)
{
	g_clear_pointer(&mount->lies_on, g_ptr_array_unref);
	g_strfreev(mount->disk_names);
	g_free(mount->refusal);
	g_free(mount->mount_point);
	g_strfreev(mount->targets);
}
