/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/extent-version.h"

bool extent_version_is_shown(BtrfsFileExtents *items, int fd, const ExtentRef *place,
			     const Object *known, bool *ret, GError **error)
{
	const BtrfsFileExtent *item;

	btrfs_file_extents_start(items, fd, place->root, place->inode, place->offset, 1);
	if (!btrfs_file_extents_next_if_any(items, &item, error))
		return false;

	*ret = item && item->bytenr == known->inode && item->disk_bytes == known->size_bytes &&
	       item->generation == object_extent_generation(known);
	return true;
}
