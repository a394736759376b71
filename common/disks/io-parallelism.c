/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/io-parallelism.h"

#include "common/config/settings.h"
#include "kernel-ioctl/machine/disk-topology.h"

#define READERS_ROTATING 1
#define READERS_SOLID    4

/* False also if this cannot be found out. */
static bool is_on_rotating(DiskTable *table, int fd)
{
	g_autoptr(GError) unknown = NULL;
	g_autoptr(GPtrArray) disks = NULL;
	FsLocation location;

	if (!fs_location_read(fd, &location, &unknown))
		return false;

	disks = disk_topology_find(disk_topology_system(), &location);
	for (size_t i = 0; i < disks->len; i++)
		if (disk_table_is_rotating(table, disks->pdata[i]))
			return true;

	return false;
}

IoParallelism io_parallelism_of(DiskTable *table, int fd, uint32_t threads)
{
	bool is_rotating = is_on_rotating(table, fd);
	unsigned n_readers = is_rotating ? READERS_ROTATING : READERS_SOLID;

	if (threads != SETTINGS_THREADS_AUTO)
		return (IoParallelism){ is_rotating, threads, threads };
	/* Comparing takes processors.  One more thread makes up for those that wait for the disk. */
	return (IoParallelism){ is_rotating, n_readers,
				MIN(n_readers, g_get_num_processors() + 1) };
}
