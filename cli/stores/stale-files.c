/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/stale-files.h"

#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/xfs/xfs-bulkstat.h"

/* A generation that was never learned is 0. */
static bool is_other(const Object *object, uint32_t generation)
{
	return object->generation != 0 && object->generation != generation;
}

static bool is_gone_from_xfs(int fd, const Object *object)
{
	XfsInode inode;

	return !xfs_inode_read(fd, object->inode, &inode) || inode.nlink == 0 ||
	       is_other(object, inode.generation);
}

static bool is_gone_from_btrfs(int fd, const Object *object, bool *ret, GError **error)
{
	BtrfsInodeItem inode;
	bool found;

	if (!btrfs_inode_read(fd, object->subvolume, object->inode, &inode, &found, error))
		return false;

	*ret = !found || is_other(object, (uint32_t)inode.generation);
	return true;
}

static bool look_at(int fd, bool is_btrfs, const Object *object, GArray *gone, GError **error)
{
	const GoneFile file = { object->subvolume, object->inode };
	bool is_gone = false;

	if (is_btrfs &&
	    (object->subvolume == OBJECT_EXTENTS || object->subvolume == OBJECT_STRETCHES))
		return true;
	if (!is_btrfs)
		is_gone = is_gone_from_xfs(fd, object);
	else if (!is_gone_from_btrfs(fd, object, &is_gone, error))
		return false;

	if (is_gone)
		g_array_append_val(gone, file);
	return true;
}

static bool can_look(int fd, bool is_btrfs, GError **error)
{
	int cause = is_btrfs ? 0 : xfs_bulkstat_try(fd);

	if (cause == 0)
		return true;
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause),
		    "cannot list the inodes: %s", g_strerror(cause));
	return false;
}

bool stale_files_find(HashStore *store, int fd, GArray **ret, GError **error)
{
	bool is_btrfs = hash_store_has_extents(store);
	g_autoptr(GArray) gone = g_array_new(false, false, sizeof(GoneFile));
	g_autoptr(ObjectCursor) cursor = NULL;
	const Object *object;

	if (!can_look(fd, is_btrfs, error))
		return false;
	cursor = object_cursor_open(store, error);
	if (!cursor)
		return false;

	while (true) {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object)
			break;
		if (!look_at(fd, is_btrfs, object, gone, error))
			return false;
	}

	*ret = g_steal_pointer(&gone);
	return true;
}
