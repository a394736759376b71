/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-blocks.h"

#include "kernel-ioctl/btrfs/btrfs-chunks.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/call/system-call.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The alignment of buffers that direct I/O needs on any device. */
#define BUFFER_ALIGNMENT 4096

typedef struct {
	uint64_t id;
	int fd;      /* -1: cannot be opened */
	int failure; /* errno value, if fd is -1 */
	char *path;
} Device;

struct BtrfsBlocks {
	int fd;
	BtrfsInfo info;
	BtrfsChunks *chunks;
	GArray *devices; /* Device, those used so far */
	uint8_t *buffer; /* of one block */
};

static void device_clear(void *data)
{
	Device *device = data;

	if (device->fd >= 0)
		close(device->fd);
	g_free(device->path);
}

static bool read_chunks(BtrfsBlocks *blocks, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_CHUNK_TREE_OBJECTID,
		.first = { BTRFS_FIRST_CHUNK_TREE_OBJECTID, BTRFS_CHUNK_ITEM_KEY, 0 },
		.last = { BTRFS_FIRST_CHUNK_TREE_OBJECTID, BTRFS_CHUNK_ITEM_KEY, UINT64_MAX },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES);
	const BtrfsTreeItem *item;

	btrfs_tree_start(tree, blocks->fd, &range);
	for (;;) {
		if (!btrfs_tree_next(tree, &item, error))
			return false;
		if (!item)
			return true;
		if (btrfs_chunks_add(blocks->chunks, item->key.offset, item->data, item->length))
			continue;

		g_set_error(
			error, G_FILE_ERROR, G_FILE_ERROR_IO,
			"cannot read the chunk tree of the btrfs: the item at %" G_GUINT64_FORMAT
			" is damaged or of an unknown kind",
			item->key.offset);
		return false;
	}
}

BtrfsBlocks *btrfs_blocks_open(int fd, GError **error)
{
	g_autoptr(BtrfsBlocks) blocks = g_new0(BtrfsBlocks, 1);

	blocks->fd = fd;
	blocks->chunks = btrfs_chunks_new();
	blocks->devices = g_array_new(false, false, sizeof(Device));
	g_array_set_clear_func(blocks->devices, device_clear);
	if (!btrfs_info_read(fd, &blocks->info, error) || !read_chunks(blocks, error))
		return NULL;

	blocks->buffer =
		aligned_alloc(BUFFER_ALIGNMENT, MAX(blocks->info.node_bytes, BUFFER_ALIGNMENT));
	if (!blocks->buffer)
		g_error("cannot allocate a block of %u bytes", blocks->info.node_bytes);
	return g_steal_pointer(&blocks);
}

void btrfs_blocks_close(BtrfsBlocks *blocks)
{
	if (!blocks)
		return;

	btrfs_chunks_free(blocks->chunks);
	g_array_unref(blocks->devices);
	free(blocks->buffer);
	g_free(blocks);
}

static void open_device(const BtrfsBlocks *blocks, Device *device)
{
	struct btrfs_ioctl_dev_info_args info = { .devid = device->id };
	struct stat stat;

	if (system_call_ioctl(blocks->fd, BTRFS_IOC_DEV_INFO, &info) < 0) {
		device->failure = errno;
		return;
	}

	/* A missing device has no path. */
	device->path = g_strndup((const char *)info.path, sizeof(info.path));
	device->fd = open(device->path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (device->fd < 0) {
		device->failure = errno;
	} else if (fstat(device->fd, &stat) != 0 || !S_ISBLK(stat.st_mode)) {
		close(device->fd);
		device->fd = -1;
		device->failure = ENOTBLK;
	}
}

static const Device *find_device(BtrfsBlocks *blocks, uint64_t id)
{
	Device device = { .id = id, .fd = -1 };

	for (guint i = 0; i < blocks->devices->len; i++) {
		const Device *known = &g_array_index(blocks->devices, Device, i);

		if (known->id == id)
			return known;
	}

	open_device(blocks, &device);
	g_array_append_val(blocks->devices, device);
	return &g_array_index(blocks->devices, Device, blocks->devices->len - 1);
}

/* False with errno, also if the device ends before the block does. */
static bool read_place(const BtrfsBlocks *blocks, const Device *device, uint64_t offset)
{
	uint32_t n_read = 0;

	if (device->fd < 0) {
		errno = device->failure;
		return false;
	}
	while (n_read < blocks->info.node_bytes) {
		ssize_t n = pread(device->fd, blocks->buffer + n_read,
				  blocks->info.node_bytes - n_read, (off_t)(offset + n_read));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n == 0 ? EIO : errno;
			return false;
		}
		n_read += (uint32_t)n;
	}
	return true;
}

/* The checksum at the start of the block matches the rest, or cannot be computed here. */
static bool has_right_sum(const BtrfsBlocks *blocks)
{
	uint8_t sum[BTRFS_SUM_BYTES_MAX];

	return !btrfs_checksum_compute(blocks->info.checksum, blocks->buffer + BTRFS_CSUM_SIZE,
				       blocks->info.node_bytes - BTRFS_CSUM_SIZE, sum) ||
	       memcmp(sum, blocks->buffer, blocks->info.sum_bytes) == 0;
}

bool btrfs_blocks_read(BtrfsBlocks *blocks, uint64_t bytenr, uint64_t generation, uint8_t level,
		       BtrfsNode *ret, GError **error)
{
	BtrfsDevicePlace place;
	uint64_t failed_id = 0;
	bool was_read = false;
	int failure = 0;
	unsigned copy;

	for (copy = 0;
	     btrfs_chunks_find(blocks->chunks, bytenr, blocks->info.node_bytes, copy, &place);
	     copy++) {
		const Device *device = find_device(blocks, place.device);

		if (!read_place(blocks, device, place.offset)) {
			failure = errno;
			failed_id = place.device;
			continue;
		}
		was_read = true;
		if (btrfs_node_read(blocks->buffer, blocks->info.node_bytes, ret) &&
		    ret->bytenr == bytenr && ret->generation == generation && ret->level == level &&
		    has_right_sum(blocks))
			return true;
	}

	if (failure && !was_read) {
		const Device *failed = find_device(blocks, failed_id);

		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(failure),
			    "cannot read the trees of the btrfs from its device %" G_GUINT64_FORMAT
			    " (%s): %s",
			    failed->id, failed->path ? failed->path : "unknown",
			    g_strerror(failure));
		return false;
	}
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN,
		    "cannot read the trees of the btrfs: the block at %" G_GUINT64_FORMAT
		    " was reused meanwhile, or is damaged",
		    bytenr);
	return false;
}
