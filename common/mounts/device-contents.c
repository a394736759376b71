/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/device-contents.h"

#include "kernel-ioctl/call/fd.h"

#include <blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How libblkid says that it found several filesystems. */
#define AMBIVALENT -2

#define SUPERBLOCK_BYTES 512

/* Offsets of fields in the superblock: big-endian in XFS, little-endian in btrfs. */
enum {
	XFS_OFFSET = 0,
	XFS_BLOCK_BYTES = 4,
	XFS_BLOCKS = 8,
	XFS_VERSION = 100,
	XFS_RO_COMPAT = 212,
	BTRFS_OFFSET = 64 << 10,
	BTRFS_DEVICES = 136,
	BTRFS_SECTOR_BYTES = 144,
	BTRFS_DEVICE_BYTES = 209, /* of this device */
};

#define XFS_VERSION_MASK      0x000f
#define XFS_VERSION_CHECKSUMS 5
#define XFS_RO_COMPAT_REFLINK (1U << 2)

typedef struct blkid_struct_probe Probe;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Probe, blkid_free_probe)

static uint64_t number_at(const uint8_t *bytes, unsigned n_bytes, bool is_big_endian)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < n_bytes; i++)
		number = number << 8 | bytes[is_big_endian ? i : n_bytes - 1 - i];
	return number;
}

static void take_xfs(const uint8_t *superblock, DeviceContents *contents)
{
	uint64_t version = number_at(superblock + XFS_VERSION, 2, true) & XFS_VERSION_MASK;

	contents->block_bytes = (uint32_t)number_at(superblock + XFS_BLOCK_BYTES, 4, true);
	contents->filesystem_bytes =
		number_at(superblock + XFS_BLOCKS, 8, true) * contents->block_bytes;
	contents->n_devices = 1;
	contents->can_share =
		version == XFS_VERSION_CHECKSUMS &&
		number_at(superblock + XFS_RO_COMPAT, 4, true) & XFS_RO_COMPAT_REFLINK;
}

static void take_btrfs(const uint8_t *superblock, DeviceContents *contents)
{
	contents->block_bytes = (uint32_t)number_at(superblock + BTRFS_SECTOR_BYTES, 4, false);
	contents->filesystem_bytes = number_at(superblock + BTRFS_DEVICE_BYTES, 8, false);
	contents->n_devices = number_at(superblock + BTRFS_DEVICES, 8, false);
	contents->can_share = true;
}

static bool read_superblock(int fd, const char *path, DeviceContents *contents, GError **error)
{
	bool is_btrfs = g_strcmp0(contents->type, "btrfs") == 0;
	uint8_t superblock[SUPERBLOCK_BYTES];

	if (!device_contents_are_supported(contents))
		return true;
	if (pread(fd, superblock, sizeof(superblock), is_btrfs ? BTRFS_OFFSET : XFS_OFFSET) !=
	    (ssize_t)sizeof(superblock)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO,
			    "cannot read the superblock of %s", path);
		return false;
	}

	if (is_btrfs)
		take_btrfs(superblock, contents);
	else
		take_xfs(superblock, contents);
	return true;
}

static char *value_of(blkid_probe probe, const char *name)
{
	const char *value;

	return blkid_probe_lookup_value(probe, name, &value, NULL) == 0 ? g_strdup(value) : NULL;
}

/* The types of all filesystems whose signatures the device has. */
static char *list_of_types(blkid_probe probe)
{
	g_autoptr(GPtrArray) types = g_ptr_array_new_with_free_func(g_free);

	blkid_reset_probe(probe);
	blkid_probe_enable_partitions(probe, false);
	blkid_probe_enable_topology(probe, false);
	while (blkid_do_probe(probe) == 0) {
		char *type = value_of(probe, "TYPE");

		if (type)
			g_ptr_array_add(types, type);
	}
	g_ptr_array_add(types, NULL);
	return g_strjoinv(", ", (char **)types->pdata);
}

static bool is_device(int fd)
{
	struct stat stat;

	return fstat(fd, &stat) == 0 && S_ISBLK(stat.st_mode);
}

static bool probe_contents(blkid_probe probe, const char *path, DeviceContents *ret, GError **error)
{
	blkid_topology topology;
	int found;

	blkid_probe_enable_superblocks(probe, true);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_UUID |
							 BLKID_SUBLKS_LABEL | BLKID_SUBLKS_MAGIC);
	blkid_probe_enable_partitions(probe, true);
	/* Files have none, which would be an error. */
	blkid_probe_enable_topology(probe, is_device(blkid_probe_get_fd(probe)));
	found = blkid_do_safeprobe(probe);
	if (found == AMBIVALENT) {
		g_autofree char *types = list_of_types(probe);

		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s has signatures of several filesystems: %s", path, types);
		return false;
	}
	if (found < 0) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO, "cannot read %s: %s", path,
			    g_strerror(errno ? errno : EIO));
		return false;
	}

	ret->type = value_of(probe, "TYPE");
	ret->uuid = value_of(probe, "UUID");
	ret->label = value_of(probe, "LABEL");
	ret->partitions = value_of(probe, "PTTYPE");
	ret->size_bytes = (uint64_t)blkid_probe_get_size(probe);
	topology = is_device(blkid_probe_get_fd(probe)) ? blkid_probe_get_topology(probe) : NULL;
	if (topology)
		ret->misaligned_bytes = blkid_topology_get_alignment_offset(topology);
	return true;
}

bool device_contents_read(const char *path, DeviceContents *ret, GError **error)
{
	g_auto(DeviceContents) contents = { 0 };
	g_autoptr(Probe) probe = blkid_new_probe();
	g_auto(Fd) fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || blkid_probe_set_device(probe, fd, 0, 0) != 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "cannot read %s: %s", path, g_strerror(errno));
		return false;
	}
	if (!probe_contents(probe, path, &contents, error) ||
	    !read_superblock(fd, path, &contents, error))
		return false;

	*ret = contents;
	contents = (DeviceContents){ 0 };
	return true;
}

void device_contents_clear(DeviceContents *contents)
{
	g_clear_pointer(&contents->type, g_free);
	g_clear_pointer(&contents->uuid, g_free);
	g_clear_pointer(&contents->label, g_free);
	g_clear_pointer(&contents->partitions, g_free);
}

bool device_contents_are_supported(const DeviceContents *contents)
{
	return g_strcmp0(contents->type, "btrfs") == 0 || g_strcmp0(contents->type, "xfs") == 0;
}
