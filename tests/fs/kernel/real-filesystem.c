/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fs/kernel/real-filesystem.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#define BLOCK_BYTES 4096

FsKind real_filesystem_kind(void)
{
	const char *path = g_getenv("DEDUPD_TEST_DIR");
	g_autoptr(GError) error = NULL;
	FsIdentity identity;
	g_auto(Fd) fd = -1;

	if (!path)
		return FS_KIND_OTHER;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_assert_true(fs_identity_read(fd, &identity, &error));
	return identity.kind;
}

int real_filesystem_create_subvolume(Scratch *scratch, const char *name)
{
	struct btrfs_ioctl_vol_args arguments = { 0 };
	int fd;

	g_strlcpy(arguments.name, name, sizeof(arguments.name));
	g_assert_cmpint(ioctl(scratch->fd, BTRFS_IOC_SUBVOL_CREATE, &arguments), ==, 0);
	fd = openat(scratch->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_assert_cmpint(fd, >=, 0);
	return fd;
}

int real_filesystem_create_snapshot(Scratch *scratch, const char *of, const char *name,
				    bool is_read_only)
{
	g_auto(Fd) source = openat(scratch->fd, of, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct btrfs_ioctl_vol_args_v2 arguments = {
		.fd = source,
		.flags = is_read_only ? BTRFS_SUBVOL_RDONLY : 0,
	};
	int fd;

	g_assert_cmpint(source, >=, 0);
	g_strlcpy(arguments.name, name, sizeof(arguments.name));
	g_assert_cmpint(ioctl(scratch->fd, BTRFS_IOC_SNAP_CREATE_V2, &arguments), ==, 0);
	fd = openat(scratch->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_assert_cmpint(fd, >=, 0);
	return fd;
}

void real_filesystem_delete_subvolume(Scratch *scratch, const char *name)
{
	struct btrfs_ioctl_vol_args arguments = { 0 };

	g_strlcpy(arguments.name, name, sizeof(arguments.name));
	g_assert_cmpint(ioctl(scratch->fd, BTRFS_IOC_SNAP_DESTROY, &arguments), ==, 0);
}

void real_filesystem_set_flag(int fd, int flag, bool is_set)
{
	int flags = 0;

	g_assert_cmpint(ioctl(fd, FS_IOC_GETFLAGS, &flags), ==, 0);
	flags = is_set ? flags | flag : flags & ~flag;
	g_assert_cmpint(ioctl(fd, FS_IOC_SETFLAGS, &flags), ==, 0);
}

int real_filesystem_create_no_cow(Scratch *scratch, const char *name, size_t size, uint32_t seed)
{
	int fd = scratch_create(scratch, name, 0, 0);

	real_filesystem_set_flag(fd, FS_NOCOW_FL, true);
	scratch_fill(fd, 0, size, seed);
	return fd;
}

void real_filesystem_bind(Scratch *scratch, const char *from, const char *to, bool is_read_only)
{
	g_autofree char *source = scratch_path(scratch, from);
	g_autofree char *target = scratch_path(scratch, to);

	g_assert_cmpint(mount(source, target, "none", MS_BIND, NULL), ==, 0);
	if (is_read_only)
		g_assert_cmpint(
			mount("none", target, "none", MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), ==,
			0);
}

void real_filesystem_unbind(Scratch *scratch, const char *to)
{
	g_autofree char *target = scratch_path(scratch, to);

	g_assert_cmpint(umount2(target, MNT_DETACH), ==, 0);
}

uint64_t *real_filesystem_addresses(int fd, uint64_t length)
{
	uint64_t *addresses = g_new0(uint64_t, length / BLOCK_BYTES + 1);
	g_autoptr(ExtentMap) map = extent_map_new();
	g_autoptr(GError) error = NULL;
	const MappedExtent *extent;

	extent_map_start(map, fd, 0, length, true);
	while (extent_map_next(map, &extent, &error) && extent)
		for (uint64_t at = 0; at < extent->length; at += BLOCK_BYTES)
			if (mapped_extent_is_addressed(extent))
				addresses[(extent->logical + at) / BLOCK_BYTES] =
					extent->physical + at;
	g_assert_no_error(error);

	return addresses;
}

unsigned real_filesystem_count_shared(int fd_a, int fd_b, uint64_t length)
{
	g_autofree uint64_t *a = real_filesystem_addresses(fd_a, length);
	g_autofree uint64_t *b = real_filesystem_addresses(fd_b, length);
	unsigned n_shared = 0;

	for (uint64_t i = 0; i * BLOCK_BYTES < length; i++)
		n_shared += a[i] && a[i] == b[i];

	return n_shared;
}
