/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs-file-extent.h"

#include "kernel-ioctl/system-call.h"

#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stddef.h>
#include <string.h>

/* A compressed extent shows no more than this, so the item begins no further before. */
#define COMPRESSED_BYTES_MAX (UINT64_C(128) << 10)

#define BUFFER_BYTES 4096

typedef union {
	struct btrfs_ioctl_search_args_v2 arguments;
	uint8_t bytes[sizeof(struct btrfs_ioctl_search_args_v2) + BUFFER_BYTES];
} Search;

/* Whether the item is an extent in place that holds @position. */
static bool take_item(const struct btrfs_ioctl_search_header *header, const uint8_t *item,
		      uint64_t position, BtrfsFileExtent *ret)
{
	struct btrfs_file_extent_item extent;

	if (header->type != BTRFS_EXTENT_DATA_KEY || header->len < sizeof(extent))
		return false;

	memcpy(&extent, item, sizeof(extent));
	*ret = (BtrfsFileExtent){
		.logical = header->offset,
		.disk_bytes = GUINT64_FROM_LE(extent.disk_num_bytes),
		.ram_bytes = GUINT64_FROM_LE(extent.ram_bytes),
		.offset = GUINT64_FROM_LE(extent.offset),
		.length = GUINT64_FROM_LE(extent.num_bytes),
	};
	return ret->logical <= position && position - ret->logical < ret->length;
}

bool btrfs_file_extent_read(int fd, uint64_t inode, uint64_t position, BtrfsFileExtent *ret,
			    GError **error)
{
	Search search = { .arguments = { .key = {
		.min_objectid = inode,
		.max_objectid = inode,
		.min_type = BTRFS_EXTENT_DATA_KEY,
		.max_type = BTRFS_EXTENT_DATA_KEY,
		.min_offset = position - MIN(position, COMPRESSED_BYTES_MAX),
		.max_offset = position,
		.max_transid = UINT64_MAX,
		.nr_items = UINT32_MAX,
	}, .buf_size = BUFFER_BYTES } };
	const uint8_t *next = search.bytes + offsetof(struct btrfs_ioctl_search_args_v2, buf);

	if (system_call_ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, &search.arguments) < 0)
		return system_call_failed(error, "read the extents of a file");

	for (uint32_t i = 0; i < search.arguments.key.nr_items; i++) {
		struct btrfs_ioctl_search_header header;

		memcpy(&header, next, sizeof(header));
		if (take_item(&header, next + sizeof(header), position, ret))
			return true;
		next += sizeof(header) + header.len;
	}

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
		    "cannot read the extents of a file: none at %" G_GUINT64_FORMAT, position);
	return false;
}
