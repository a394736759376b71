/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"
#include "kernel-ioctl/call/system-call.h"

#include <linux/btrfs.h>
#include <stdlib.h>
#include <string.h>

G_STATIC_ASSERT(sizeof(BtrfsSubvolume) == 88);

static bool is_subvolume(uint64_t id)
{
	return id == BTRFS_SUBVOLUME_TOP ||
	       (id >= BTRFS_FIRST_FREE_OBJECTID && id <= BTRFS_LAST_FREE_OBJECTID);
}

static bool damaged(uint64_t id, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO,
		    "cannot list the subvolumes of the btrfs: the item of %" G_GUINT64_FORMAT
		    " is damaged",
		    id);
	return false;
}

static bool add_root(GArray *subvolumes, const BtrfsTreeItem *item, GError **error)
{
	BtrfsSubvolume subvolume = { .id = item->key.objectid };
	BtrfsRootItem root;

	if (!btrfs_root_item_read(item->data, item->length, &root))
		return damaged(subvolume.id, error);

	subvolume.generation = root.generation;
	subvolume.otransid = root.otransid;
	subvolume.tree_bytenr = root.bytenr;
	subvolume.tree_level = root.level;
	subvolume.otime_nsec = root.otime_nsec;
	subvolume.is_read_only = root.is_read_only;
	subvolume.is_dead = root.is_dead;
	memcpy(subvolume.uuid, root.uuid, sizeof(subvolume.uuid));
	memcpy(subvolume.parent_uuid, root.parent_uuid, sizeof(subvolume.parent_uuid));
	g_array_append_val(subvolumes, subvolume);
	return true;
}

/* A back reference follows the root item of the same id, if there is one. */
static void add_backref(GArray *subvolumes, const BtrfsTreeItem *item)
{
	BtrfsSubvolume *last;

	if (subvolumes->len == 0)
		return;
	last = &g_array_index(subvolumes, BtrfsSubvolume, subvolumes->len - 1);
	if (last->id == item->key.objectid)
		last->parent_id = item->key.offset;
}

bool btrfs_subvolumes_read(int fd, GArray **ret, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_ROOT_TREE_OBJECTID,
		.first = { .objectid = BTRFS_SUBVOLUME_TOP },
		.last = { BTRFS_LAST_FREE_OBJECTID, UINT8_MAX, UINT64_MAX },
		.types = { BTRFS_ROOT_ITEM_KEY, BTRFS_ROOT_BACKREF_KEY },
	};
	g_autoptr(GArray) subvolumes = g_array_new(false, false, sizeof(BtrfsSubvolume));
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	const BtrfsTreeItem *item;

	btrfs_tree_start(tree, fd, &range);
	for (;;) {
		if (!btrfs_tree_next(tree, &item, error))
			return false;
		if (!item)
			break;
		if (!is_subvolume(item->key.objectid))
			continue;
		if (item->key.type == BTRFS_ROOT_BACKREF_KEY)
			add_backref(subvolumes, item);
		else if (!add_root(subvolumes, item, error))
			return false;
	}

	*ret = g_steal_pointer(&subvolumes);
	return true;
}

static int compare_id(const void *wanted, const void *subvolume)
{
	uint64_t id = *(const uint64_t *)wanted, other = ((const BtrfsSubvolume *)subvolume)->id;

	return (id > other) - (id < other);
}

const BtrfsSubvolume *btrfs_subvolumes_find(const GArray *subvolumes, uint64_t id)
{
	/* An empty array may have no data, which bsearch() does not accept. */
	if (subvolumes->len == 0)
		return NULL;

	return bsearch(&id, subvolumes->data, subvolumes->len, sizeof(BtrfsSubvolume), compare_id);
}

bool btrfs_subvolume_is_read_only(int fd, bool *ret, GError **error)
{
	struct btrfs_ioctl_get_subvol_info_args info = { 0 };

	/* The ioctl succeeds with 1 for all but the top level (Linux 6.18). */
	if (system_call_ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, &info) < 0)
		return system_call_failed(error, "read the flags of the subvolume");

	/* The flags are those of the ROOT_ITEM. */
	*ret = info.flags & BTRFS_ROOT_SUBVOL_RDONLY;
	return true;
}
