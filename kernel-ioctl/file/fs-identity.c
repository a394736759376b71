/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/fs-identity.h"

#include "kernel-ioctl/btrfs/btrfs-space.h"
#include "kernel-ioctl/call/system-call.h"
#include "kernel-ioctl/file/copy-uuid.h"
#include "kernel-ioctl/file/own-options.h"
#include "kernel-ioctl/xfs/xfs-geometry.h"

#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define XFS_SUPER_MAGIC       0x58465342
#define BTRFS_TREE_OF_THIS_FD 0

#define SYSFS     "/sys"
#define MOUNTINFO "/proc/self/mountinfo"

const char *fs_kind_name(FsKind kind)
{
	switch (kind) {
	case FS_KIND_BTRFS:
		return "btrfs";
	case FS_KIND_XFS:
		return "XFS";
	case FS_KIND_OTHER:
		break;
	}
	return "other";
}

bool fs_identity_is_copy(const FsIdentity *identity)
{
	return !fs_uuid_equal(identity->uuid, identity->superblock_uuid);
}

static bool read_statfs(int fd, struct statfs *ret, GError **error)
{
	int result;

	do
		result = fstatfs(fd, ret);
	while (result < 0 && errno == EINTR);

	return result == 0 || system_call_failed(error, "read the state of the filesystem");
}

static bool read_btrfs(int fd, FsIdentity *ret, GError **error)
{
	struct btrfs_ioctl_fs_info_args info = { .flags = BTRFS_FS_INFO_FLAG_METADATA_UUID };

	if (system_call_ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
		return system_call_failed(error, "read the UUID of the btrfs");

	memcpy(ret->fsid, info.fsid, FS_UUID_BYTES);
	memcpy(ret->uuid, ret->fsid, FS_UUID_BYTES);
	memcpy(ret->superblock_uuid, ret->fsid, FS_UUID_BYTES);
	/* Linux 5.10 has the other UUID, and clears the flag where it is not known. */
	if (info.flags & BTRFS_FS_INFO_FLAG_METADATA_UUID &&
	    copy_uuid_of_btrfs(SYSFS, ret->fsid, info.metadata_uuid, ret->uuid))
		memcpy(ret->superblock_uuid, info.metadata_uuid, FS_UUID_BYTES);
	ret->block_bytes = info.sectorsize;
	ret->can_share = true;
	return true;
}

/* The options of the filesystem on @device: those of @mount (NULL: not known), or else in mountinfo.  To be freed. */
static char *options_of(const FsMount *mount, dev_t device, GError **error)
{
	char *options = mount && mount->options && mount->device == device
				? g_strdup(mount->options)
				: own_options_read(MOUNTINFO, major(device), minor(device));

	/* A copy must not get the store of the original. */
	if (!options)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "%s does not show how device %u:%u is mounted", MOUNTINFO,
			    major(device), minor(device));
	return options;
}

static bool read_xfs(int fd, const FsMount *mount, FsIdentity *ret, GError **error)
{
	g_autofree char *options = NULL;
	XfsGeometry geometry;
	struct stat stat;

	if (!xfs_geometry_read(fd, &geometry, error))
		return false;
	if (fstat(fd, &stat) != 0)
		return system_call_failed(error, "find the device of the XFS");

	memcpy(ret->fsid, geometry.uuid, FS_UUID_BYTES);
	memcpy(ret->superblock_uuid, geometry.uuid, FS_UUID_BYTES);
	memcpy(ret->uuid, geometry.uuid, FS_UUID_BYTES);
	options = options_of(mount, stat.st_dev, error);
	if (!options)
		return false;
	copy_uuid_of_xfs(SYSFS, options, stat.st_dev, geometry.uuid, ret->uuid);
	ret->block_bytes = geometry.block_bytes;
	ret->can_share = geometry.has_reflink;
	return true;
}

bool fs_identity_read_mounted(int fd, const FsMount *mount, FsIdentity *ret, GError **error)
{
	FsIdentity identity = { 0 };
	struct statfs state;

	if (!read_statfs(fd, &state, error))
		return false;

	switch ((unsigned long)state.f_type) {
	case BTRFS_SUPER_MAGIC:
		identity.kind = FS_KIND_BTRFS;
		if (!read_btrfs(fd, &identity, error))
			return false;
		break;
	case XFS_SUPER_MAGIC:
		identity.kind = FS_KIND_XFS;
		if (!read_xfs(fd, mount, &identity, error))
			return false;
		break;
	default:
		break;
	}

	*ret = identity;
	return true;
}

bool fs_identity_read(int fd, FsIdentity *ret, GError **error)
{
	return fs_identity_read_mounted(fd, NULL, ret, error);
}

bool fs_subvolume_read(int fd, FsKind kind, uint64_t *ret, GError **error)
{
	struct btrfs_ioctl_ino_lookup_args lookup = {
		.treeid = BTRFS_TREE_OF_THIS_FD,
		.objectid = BTRFS_FIRST_FREE_OBJECTID,
	};

	if (kind != FS_KIND_BTRFS) {
		*ret = 0;
		return true;
	}
	if (system_call_ioctl(fd, BTRFS_IOC_INO_LOOKUP, &lookup) < 0)
		return system_call_failed(error, "read the id of the subvolume");

	*ret = lookup.treeid;
	return true;
}

char *fs_label_read(int fd)
{
	char label[FSLABEL_MAX] = "";

	if (system_call_ioctl(fd, FS_IOC_GETFSLABEL, label) < 0 || label[0] == '\0')
		return NULL;
	return g_strndup(label, sizeof(label));
}

uint64_t fs_total_bytes(int fd)
{
	struct statfs state;

	return read_statfs(fd, &state, NULL) ? (uint64_t)state.f_blocks * (uint64_t)state.f_bsize
					     : 0;
}

uint64_t fs_free_bytes(int fd)
{
	struct statfs state;

	return read_statfs(fd, &state, NULL) ? (uint64_t)state.f_bavail * (uint64_t)state.f_bsize
					     : 0;
}

bool fs_used_bytes(int fd, FsKind kind, uint64_t *ret, GError **error)
{
	struct statfs state;
	BtrfsSpace space;

	if (kind == FS_KIND_BTRFS) {
		if (!btrfs_space_read(fd, &space, error))
			return false;
		*ret = space.data_used_bytes;
		return true;
	}
	if (!read_statfs(fd, &state, error))
		return false;

	*ret = (uint64_t)(state.f_blocks - state.f_bfree) * (uint64_t)state.f_bsize;
	return true;
}
