/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/io-parallelism.h"

#include "common/config/settings.h"
#include "kernel-ioctl/machine/disk-topology.h"
#include "kernel-ioctl/machine/memory-state.h"

#define READERS_ROTATING 1
#define READERS_SOLID    4

#define BYTES_PER_SHARER (UINT64_C(128) << 20)

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

/* The machine's memory, or the lowest limit of a control group.  Memory that is not known limits nothing. */
static uint64_t usable_memory(void)
{
	g_autoptr(GArray) states = memory_states_read("/");
	uint64_t bytes = UINT64_MAX;

	for (guint i = 0; states && i < states->len; i++)
		bytes = MIN(bytes, g_array_index(states, MemoryState, i).total_bytes);

	return bytes;
}

IoParallelism io_parallelism_choose(uint32_t threads, bool is_rotating, unsigned n_processors,
				    uint64_t memory_bytes)
{
	unsigned n_readers = is_rotating ? READERS_ROTATING : READERS_SOLID;
	/* Comparing takes processors.  One more thread makes up for those that wait for the disk. */
	unsigned n_sharers = MIN(n_readers, n_processors + 1);

	if (threads != SETTINGS_THREADS_AUTO)
		return (IoParallelism){ is_rotating, threads, threads };

	n_sharers = (unsigned)MIN(n_sharers, memory_bytes / BYTES_PER_SHARER);
	return (IoParallelism){ is_rotating, n_readers, MAX(n_sharers, 1) };
}

IoParallelism io_parallelism_of(DiskTable *table, int fd, uint32_t threads)
{
	return io_parallelism_choose(threads, is_on_rotating(table, fd), g_get_num_processors(),
				     usable_memory());
}
