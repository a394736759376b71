/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/disk-slot.h"

#include "common/mounts/filesystem-hold.h"
#include "common/system/lock-file.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/machine/disk-topology.h"

#define WAIT_USEC (G_USEC_PER_SEC / 5)

struct DiskSlot {
	GArray *locks; /* descriptors */
};

static DiskSlot *turn_new(void)
{
	DiskSlot *turn = g_new0(DiskSlot, 1);

	turn->locks = g_array_new(false, false, sizeof(int));
	return turn;
}

void disk_slot_free(DiskSlot *turn)
{
	if (!turn)
		return;

	for (guint i = 0; i < turn->locks->len; i++)
		fd_close(&g_array_index(turn->locks, int, i));
	g_array_unref(turn->locks);
	g_free(turn);
}

/* Returns false if another process has the disk.  If locks have no directory, no pass waits for another. */
static bool take_disk(DiskSlot *turn, const Disk *disk)
{
	g_autofree char *name = g_strconcat("disk-", disk->name, NULL);
	g_autoptr(GError) error = NULL;
	int fd;
	LockFileOutcome outcome = lock_file_take(name, &fd, &error);

	if (outcome == LOCK_FILE_TAKEN)
		g_array_append_val(turn->locks, fd);
	else if (outcome == LOCK_FILE_FAILED)
		g_debug("%s", error->message);
	return outcome != LOCK_FILE_HELD;
}

DiskSlot *disk_slot_take(DiskTable *table, const GPtrArray *disks)
{
	g_autoptr(DiskSlot) turn = turn_new();

	for (size_t i = 0; i < disks->len; i++) {
		const Disk *disk = disks->pdata[i];

		if (disk_table_is_rotating(table, disk) && !take_disk(turn, disk))
			return NULL;
	}

	return g_steal_pointer(&turn);
}

DiskSlot *disk_slot_wait(DiskTable *table, int fd, const char *mount_point, const char *uuid,
			 const atomic_bool *stop)
{
	g_autoptr(GPtrArray) disks = g_ptr_array_new_with_free_func((GDestroyNotify)disk_free);
	bool was_said = false;
	FsLocation location;

	if (fs_location_read(fd, &location, NULL)) {
		g_ptr_array_unref(disks);
		disks = disk_topology_find(disk_topology_system(), &location);
	}

	while (!atomic_load(stop)) {
		DiskSlot *turn = disk_slot_take(table, disks);
		g_autofree char *holder = turn ? NULL : filesystem_hold_holder(uuid);

		if (turn || holder)
			return turn;
		if (!was_said)
			g_message(
				"%s: waiting for a pass over another filesystem on its disk to end",
				mount_point);
		was_said = true;
		g_usleep(WAIT_USEC);
	}

	return NULL;
}
