/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/removable-disk.h"

#include "kernel-ioctl/machine/disk-topology.h"

bool mounted_filesystem_is_removable(const MountedFilesystem *filesystem)
{
	g_auto(GStrv) ways = mounted_filesystem_ways(filesystem);
	g_autoptr(GPtrArray) disks = NULL;
	FsLocation location;

	if (!ways[0] || !fs_location_of_path(ways[0], &location))
		return false;

	disks = disk_topology_find(disk_topology_system(), &location);
	for (size_t i = 0; i < disks->len; i++)
		if (((const Disk *)disks->pdata[i])->is_removable)
			return true;

	return false;
}
