/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/directory.h"
#include "kernel-ioctl/file/extent-map.h"
#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/open-file.h"
#include "kernel-ioctl/file/page-cache.h"
#include "kernel-ioctl/machine/disk-stat.h"
#include "kernel-ioctl/machine/disk-topology.h"
#include "tests/fs/kernel/real-filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

static FsKind kind;

static bool is_btrfs(void)
{
	if (kind == FS_KIND_BTRFS)
		return true;
	g_test_skip("btrfs only");
	return false;
}

static void test_a_filesystem_has_one_identity_everywhere(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 1, 1);
	const uint8_t nothing[FS_UUID_BYTES] = { 0 };
	FsIdentity of_directory, of_file;

	g_assert_true(fs_identity_read(scratch->fd, &of_directory, NULL));
	g_assert_true(fs_identity_read(fd, &of_file, NULL));
	g_assert_cmpmem(of_directory.uuid, FS_UUID_BYTES, of_file.uuid, FS_UUID_BYTES);
	g_assert_cmpint(memcmp(of_file.uuid, nothing, FS_UUID_BYTES), !=, 0);
	g_assert_cmpuint(of_file.block_bytes, ==, 4096);
	g_assert_true(of_file.can_share);
}

/* The filesystem's loop device, which lies on tmpfs or on a filesystem that has disks. */
static void test_a_filesystem_lies_on_disks_that_count(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 1, 1);
	g_autofree char *path = scratch_path(scratch, "file");
	g_autoptr(GPtrArray) disks = NULL;
	FsLocation of_file, of_path;

	g_assert_true(fs_location_read(fd, &of_file, NULL));
	g_assert_true(fs_location_of_path(path, &of_path));
	g_assert_cmpint(of_file.is_btrfs, ==, kind == FS_KIND_BTRFS);
	g_assert_cmpmem(of_path.fsid, FS_UUID_BYTES, of_file.fsid, FS_UUID_BYTES);
	g_assert_cmpuint(of_path.major, ==, of_file.major);
	g_assert_cmpuint(of_path.minor, ==, of_file.minor);

	disks = disk_topology_find(disk_topology_system(), &of_file);
	g_assert_cmpuint(disks->len, >, 0);
	for (size_t i = 0; i < disks->len; i++) {
		const Disk *disk = disks->pdata[i];
		DiskStat stat;

		g_assert_true(disk_stat_read(disk->stat_path, &stat));
		g_assert_cmpuint(stat.write_bytes, >, 0);
	}
}

static void test_a_nested_subvolume_has_an_id_of_its_own(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Directory) directory = directory_new_take(dup(scratch->fd), NULL);
	const DirectoryEntry *entry;
	g_auto(Fd) nested = -1;
	FileStat outer, inner;
	uint64_t outer_id = 99, inner_id = 99;

	g_assert_true(fs_subvolume_read(scratch->fd, kind, &outer_id, NULL));
	g_assert_cmpuint(outer_id, ==, kind == FS_KIND_BTRFS ? 5 : 0);
	if (!is_btrfs())
		return;

	/* The first one may have the very number that every subvolume's directory has as inode. */
	close(real_filesystem_create_subvolume(scratch, "first"));
	nested = real_filesystem_create_subvolume(scratch, "nested");
	g_assert_true(fs_subvolume_read(nested, kind, &inner_id, NULL));
	g_assert_cmpuint(inner_id, >, 256);
	while (directory_next(directory, &entry, NULL) && entry)
		if (g_str_equal(entry->name, "nested"))
			g_assert_cmpuint(entry->inode, ==, inner_id);

	/* Another device number, and nevertheless the same mount. */
	g_assert_cmpint(file_stat_at(scratch->fd, "", &outer), ==, 0);
	g_assert_cmpint(file_stat_at(nested, "", &inner), ==, 0);
	g_assert_cmpuint(outer.device_minor, !=, inner.device_minor);
	g_assert_cmpuint(outer.mount_id, ==, inner.mount_id);
	g_assert_false(inner.is_mount_root);
}

static FileAttributes read_attributes(int fd)
{
	g_autoptr(GError) error = NULL;
	FileAttributes attributes;

	g_assert_true(file_attributes_read(fd, kind, &attributes, &error));
	g_assert_no_error(error);
	return attributes;
}

static void test_attributes_say_what_is_in_the_way_of_sharing(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 0, 0);
	FileStat stat;

	if (kind == FS_KIND_BTRFS) {
		real_filesystem_set_flag(fd, FS_NOCOW_FL, true);
		g_assert_true(read_attributes(fd).is_no_cow);
		real_filesystem_set_flag(fd, FS_NOCOW_FL, false);
	}

	real_filesystem_set_flag(fd, FS_APPEND_FL, true);
	g_assert_true(read_attributes(fd).is_append_only);
	g_assert_false(read_attributes(fd).is_immutable);
	real_filesystem_set_flag(fd, FS_APPEND_FL, false);

	real_filesystem_set_flag(fd, FS_IMMUTABLE_FL, true);
	g_assert_true(read_attributes(fd).is_immutable);
	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	g_assert_true(stat.is_immutable);
	real_filesystem_set_flag(fd, FS_IMMUTABLE_FL, false);

	g_assert_false(read_attributes(fd).is_immutable);
	g_assert_false(read_attributes(fd).is_append_only);
	g_assert_false(read_attributes(fd).is_no_cow);
	g_assert_false(read_attributes(fd).is_realtime);
}

/* The id of @name in the kernel's own words, which works for what cannot be opened too. */
static FileId id_in_handle(int dir_fd, const char *name)
{
	union {
		struct file_handle handle;
		uint8_t bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} buffer = { .handle.handle_bytes = MAX_HANDLE_SZ };
	const uint8_t *at = buffer.bytes + sizeof(struct file_handle);
	FileId id = { 0 };
	int mount_id;

	g_assert_cmpint(name_to_handle_at(dir_fd, name, &buffer.handle, &mount_id, 0), ==, 0);
	memcpy(&id.inode, at, sizeof(id.inode));
	at += sizeof(id.inode);
	if (kind == FS_KIND_BTRFS) {
		g_assert_cmpint(buffer.handle.handle_type, ==, 0x4d);
		g_assert_cmpuint(buffer.handle.handle_bytes, ==, 20);
		memcpy(&id.subvolume, at, sizeof(id.subvolume));
		at += sizeof(id.subvolume);
	} else {
		g_assert_cmpint(buffer.handle.handle_type, ==, 0x81);
		g_assert_cmpuint(buffer.handle.handle_bytes, ==, 12);
	}
	memcpy(&id.generation, at, sizeof(id.generation));
	return id;
}

static FileId id_as_read(int fd)
{
	FileId id = { .generation = read_attributes(fd).generation };
	FileStat stat;

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	g_assert_true(fs_subvolume_read(fd, kind, &id.subvolume, NULL));
	id.inode = stat.inode;
	return id;
}

static void assert_opens(int mount_fd, const FileId *id, OpenOutcome expected, int expected_errno)
{
	g_auto(Fd) fd = -1;
	int error = -1;
	FileStat stat;

	g_assert_cmpint(open_file_by_id(mount_fd, kind, id, &fd, &error), ==, expected);
	g_assert_cmpint(error, ==, expected_errno);
	g_assert_true((expected == OPEN_OPENED) == (fd >= 0));
	if (fd < 0)
		return;

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	g_assert_cmpuint(stat.inode, ==, id->inode);
	g_assert_cmpint(fcntl(fd, F_GETFL) & O_ACCMODE, ==, O_RDONLY);
}

static void test_a_file_opens_by_its_id(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 10, 1);
	FileId read = id_as_read(fd);
	FileId of_kernel = id_in_handle(scratch->fd, "file");

	g_assert_cmpuint(read.subvolume, ==, of_kernel.subvolume);
	g_assert_cmpuint(read.inode, ==, of_kernel.inode);
	g_assert_cmpuint(read.generation, ==, of_kernel.generation);

	g_assert_true(open_file_by_id_works(scratch->fd, kind));
	g_assert_true(open_file_by_id_works(fd, kind));
	assert_opens(scratch->fd, &read, OPEN_OPENED, 0);
	g_assert_cmpint(renameat(scratch->fd, "file", scratch->fd, "renamed"), ==, 0);
	assert_opens(scratch->fd, &read, OPEN_OPENED, 0);
}

static void test_a_file_of_another_subvolume_opens_by_its_id(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) outer = scratch_create(scratch, "outer", 10, 1);
	g_auto(Fd) nested = -1;
	g_auto(Fd) inner = -1;
	FileId id;

	if (!is_btrfs())
		return;

	nested = real_filesystem_create_subvolume(scratch, "nested");
	inner = scratch_create(scratch, "nested/inner", 10, 1);
	id = id_as_read(inner);
	g_assert_cmpuint(id.subvolume, !=, id_as_read(outer).subvolume);
	assert_opens(scratch->fd, &id, OPEN_OPENED, 0);
	g_assert_true(open_file_by_id_works(nested, kind));
}

static void test_an_id_that_is_no_file_any_more_is_gone(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 10, 1);
	FileId id = id_as_read(fd);
	FileId of_another_time = id;
	FileId of_nothing = id;

	of_another_time.generation++;
	assert_opens(scratch->fd, &of_another_time, OPEN_GONE, ESTALE);
	of_nothing.inode = UINT64_C(1) << 60;
	assert_opens(scratch->fd, &of_nothing, OPEN_GONE, ESTALE);

	g_assert_cmpint(unlinkat(scratch->fd, "file", 0), ==, 0);
	fd_close(&fd);
	g_assert_cmpint(syncfs(scratch->fd), ==, 0);
	assert_opens(scratch->fd, &id, OPEN_GONE, ESTALE);
}

static void test_an_id_of_no_regular_file_is_refused(void)
{
	static const char *const names[] = { "directory", "fifo", "symlink", "device" };
	g_autoptr(Scratch) scratch = scratch_new();

	g_assert_cmpint(mkdirat(scratch->fd, "directory", 0755), ==, 0);
	g_assert_cmpint(mkfifoat(scratch->fd, "fifo", 0600), ==, 0);
	g_assert_cmpint(symlinkat("directory", scratch->fd, "symlink"), ==, 0);
	/* Numbers of no driver: not even these are to be looked up. */
	g_assert_cmpint(mknodat(scratch->fd, "device", S_IFCHR | 0600, makedev(240, 7)), ==, 0);

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		FileId id = id_in_handle(scratch->fd, names[i]);

		assert_opens(scratch->fd, &id, OPEN_NOT_REGULAR, 0);
	}
}

static void test_a_leased_file_is_not_waited_for_by_id(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 10, 1);
	FileId id = id_as_read(fd);
	int64_t start;

	signal(SIGIO, SIG_IGN);
	g_assert_cmpint(fcntl(fd, F_SETLEASE, F_WRLCK), ==, 0);
	start = g_get_monotonic_time();
	assert_opens(scratch->fd, &id, OPEN_LEASED, EAGAIN);
	g_assert_cmpint(g_get_monotonic_time() - start, <, G_USEC_PER_SEC);
}

static void open_as_nobody(void *data)
{
	Scratch *scratch = data;

	scratch_become_nobody();
	g_assert_false(open_file_by_id_works(scratch->fd, kind));
}

static void test_handles_are_not_for_everyone(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	scratch_run_in_child(open_as_nobody, scratch);
}

static void open_without_proc(void *data)
{
	Scratch *scratch = data;
	g_auto(Fd) fd = -1;
	int error;

	g_assert_cmpint(unshare(CLONE_NEWNS), ==, 0);
	g_assert_cmpint(mount("none", "/proc", "none", MS_PRIVATE, NULL), ==, 0);
	g_assert_cmpint(mount("none", "/proc", "tmpfs", 0, NULL), ==, 0);

	g_assert_cmpint(open_file_at(scratch->fd, "file", &fd, &error), ==, OPEN_OPENED);
	fd_close(&fd);
	g_assert_cmpint(open_file_at(scratch->fd, "fifo", &fd, &error), ==, OPEN_NOT_REGULAR);
}

static void test_a_file_opens_by_name_without_proc(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	close(scratch_create(scratch, "file", 10, 1));
	g_assert_cmpint(mkfifoat(scratch->fd, "fifo", 0600), ==, 0);
	scratch_run_in_child(open_without_proc, scratch);
}

static void assert_directory(int parent_fd, const char *name, DirectoryOutcome expected)
{
	g_autoptr(Directory) parent = directory_new_take(dup(parent_fd), NULL);
	g_autoptr(Directory) directory = NULL;
	int error;

	g_assert_cmpint(directory_open_in(parent, name, &directory, &error), ==, expected);
}

static void open_directories(void *data)
{
	Scratch *scratch = data;

	assert_directory(scratch->fd, "plain", DIRECTORY_OPENED);
	assert_directory(scratch->fd, "bound", DIRECTORY_OTHER_MOUNT);
	if (kind == FS_KIND_BTRFS)
		assert_directory(scratch->fd, "nested", DIRECTORY_OPENED);
}

static void open_directories_without_openat2(void *data)
{
	scratch_refuse_system_call(SYS_openat2, EPERM);
	open_directories(data);
}

static void test_a_bind_mount_is_another_mount_and_a_subvolume_is_none(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) nested = -1;

	g_assert_cmpint(mkdirat(scratch->fd, "plain", 0755), ==, 0);
	g_assert_cmpint(mkdirat(scratch->fd, "bound", 0755), ==, 0);
	if (kind == FS_KIND_BTRFS)
		nested = real_filesystem_create_subvolume(scratch, "nested");
	real_filesystem_bind(scratch, "plain", "bound", false);

	open_directories(scratch);
	scratch_run_in_child(open_directories_without_openat2, scratch);
	real_filesystem_unbind(scratch, "bound");
}

static const MappedExtent *map_first(ExtentMap *map, int fd, bool flush)
{
	g_autoptr(GError) error = NULL;
	const MappedExtent *extent;

	extent_map_start(map, fd, 0, UINT64_MAX, flush);
	g_assert_true(extent_map_next(map, &extent, &error));
	g_assert_no_error(error);
	return extent;
}

static void test_a_hole_is_no_extent(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", MIB, 1);
	g_auto(Fd) empty = scratch_create(scratch, "empty", 0, 0);
	g_autoptr(ExtentMap) map = extent_map_new();
	g_autofree uint64_t *addresses = NULL;

	scratch_fill(fd, 2 * MIB, MIB, 2);
	addresses = real_filesystem_addresses(fd, 4 * MIB);
	for (uint64_t i = 0; i < 4 * MIB / 4096; i++)
		g_assert_true((addresses[i] != 0) == (i / 256 == 0 || i / 256 == 2));

	g_assert_cmpint(ftruncate(empty, MIB), ==, 0);
	g_assert_null(map_first(map, empty, true));
}

static void test_space_that_was_only_reserved_is_unwritten(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 0, 0);
	g_autoptr(ExtentMap) map = extent_map_new();
	const MappedExtent *extent;

	g_assert_cmpint(fallocate(fd, 0, 0, MIB), ==, 0);
	extent = map_first(map, fd, true);
	g_assert_cmpuint(extent->flags & EXTENT_UNWRITTEN, !=, 0);
	g_assert_cmpuint(extent->length, ==, MIB);
	g_assert_false(mapped_extent_is_addressed(extent));
}

static void test_what_is_not_written_out_has_no_address_until_it_is(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", MIB, 1);
	g_autoptr(ExtentMap) map = extent_map_new();
	const MappedExtent *extent = map_first(map, fd, false);

	g_assert_cmpuint(extent->flags & EXTENT_DELALLOC, !=, 0);
	g_assert_cmpuint(extent->physical, ==, 0);

	extent = map_first(map, fd, true);
	g_assert_cmpuint(extent->flags, ==, 0);
	g_assert_cmpuint(extent->physical, !=, 0);
	g_assert_true(mapped_extent_is_addressed(extent));
}

static void test_a_clone_is_shared_and_a_clipped_map_moves_along(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", MIB, 1);
	g_auto(Fd) b = scratch_create(scratch, "b", 0, 0);
	g_autoptr(ExtentMap) map = extent_map_new();
	const MappedExtent *extent;
	uint64_t physical;

	g_assert_cmpint(ioctl(b, FICLONE, a), ==, 0);
	extent = map_first(map, a, true);
	g_assert_cmpuint(extent->flags, ==, EXTENT_SHARED);
	physical = extent->physical;

	extent_map_start(map, b, 128 * KIB, 4 * KIB, true);
	g_assert_true(extent_map_next(map, &extent, NULL));
	g_assert_cmpuint(extent->physical, ==, physical + 128 * KIB);
	g_assert_cmpuint(extent->length, ==, 4 * KIB);
	g_assert_true(extent_map_next(map, &extent, NULL));
	g_assert_null(extent);
}

static void test_a_few_bytes_lie_inline_on_btrfs(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 100, 1);
	g_autoptr(ExtentMap) map = extent_map_new();

	if (!is_btrfs())
		return;
	g_assert_cmpuint(map_first(map, fd, true)->flags & EXTENT_INLINE, !=, 0);
}

static void test_compressed_data_is_encoded(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 0, 0);
	g_autoptr(ExtentMap) map = extent_map_new();
	g_autofree char *text = g_strnfill(MIB, 'x');
	const MappedExtent *extent;
	uint64_t physical;

	if (!is_btrfs())
		return;

	g_assert_cmpint(fsetxattr(fd, "btrfs.compression", "zstd", 4, 0), ==, 0);
	g_assert_cmpint(pwrite(fd, text, MIB, 0), ==, (ssize_t)MIB);
	extent = map_first(map, fd, true);
	g_assert_cmpuint(extent->flags & EXTENT_ENCODED, !=, 0);
	g_assert_false(mapped_extent_is_addressed(extent));
	physical = extent->physical;

	extent_map_start(map, fd, 64 * KIB, 4 * KIB, false);
	g_assert_true(extent_map_next(map, &extent, NULL));
	g_assert_cmpuint(extent->physical, ==, physical);
}

/* Every second block written, so that extents do not merge, and more of them than a batch has. */
static void test_a_thousand_extents_come_in_order(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 0, 0);
	g_autoptr(ExtentMap) map = extent_map_new();
	const MappedExtent *extent;
	unsigned n_extents = 0;

	/* Else XFS reserves space behind the end, which then lies unwritten between the blocks. */
	g_assert_cmpint(ftruncate(fd, 8 * MIB), ==, 0);
	for (unsigned i = 0; i < 1000; i++)
		scratch_fill(fd, i * 8 * KIB, 4 * KIB, i);

	extent_map_start(map, fd, 0, UINT64_MAX, true);
	while (extent_map_next(map, &extent, NULL) && extent) {
		g_assert_cmpuint(extent->logical, ==, n_extents * 8 * KIB);
		g_assert_cmpuint(extent->length, ==, 4 * KIB);
		n_extents++;
	}
	g_assert_cmpuint(n_extents, ==, 1000);
}

/* Read the file in pieces, dropping after each either that piece or everything so far. */
static uint64_t resident_after_reading(int fd, uint64_t size, bool drop_from_start)
{
	g_autofree char *buffer = g_malloc(MIB);

	page_cache_drop(fd, 0, UINT64_MAX);
	g_assert_cmpuint(page_cache_resident_bytes(fd, 0, size), ==, 0);
	for (uint64_t at = 0; at < size; at += MIB) {
		uint64_t from = drop_from_start ? 0 : at;

		g_assert_cmpint(pread(fd, buffer, MIB, (off_t)at), ==, (ssize_t)MIB);
		page_cache_drop(fd, from, at + MIB - from);
	}
	return page_cache_resident_bytes(fd, 0, size);
}

static void test_large_folios_go_when_dropped_from_the_start(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", 64 * MIB, 1);

	g_assert_cmpint(fsync(fd), ==, 0);
	g_test_message("dropping each piece leaves %" G_GUINT64_FORMAT " of 64 MiB",
		       resident_after_reading(fd, 64 * MIB, false) / MIB);
	g_assert_cmpuint(resident_after_reading(fd, 64 * MIB, true), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	kind = real_filesystem_kind();
	if (kind == FS_KIND_OTHER || geteuid() != 0) {
		g_printerr("run this as root by tests/fs/kernel/on-filesystem\n");
		return 77;
	}

	g_test_add_func("/kernel-ioctl/a-filesystem-has-one-identity-everywhere",
			test_a_filesystem_has_one_identity_everywhere);
	g_test_add_func("/kernel-ioctl/a-filesystem-lies-on-disks-that-count",
			test_a_filesystem_lies_on_disks_that_count);
	g_test_add_func("/kernel-ioctl/a-nested-subvolume-has-an-id-of-its-own",
			test_a_nested_subvolume_has_an_id_of_its_own);
	g_test_add_func("/kernel-ioctl/attributes-say-what-is-in-the-way-of-sharing",
			test_attributes_say_what_is_in_the_way_of_sharing);
	g_test_add_func("/kernel-ioctl/a-file-opens-by-its-id", test_a_file_opens_by_its_id);
	g_test_add_func("/kernel-ioctl/a-file-of-another-subvolume-opens-by-its-id",
			test_a_file_of_another_subvolume_opens_by_its_id);
	g_test_add_func("/kernel-ioctl/an-id-that-is-no-file-any-more-is-gone",
			test_an_id_that_is_no_file_any_more_is_gone);
	g_test_add_func("/kernel-ioctl/an-id-of-no-regular-file-is-refused",
			test_an_id_of_no_regular_file_is_refused);
	g_test_add_func("/kernel-ioctl/a-leased-file-is-not-waited-for-by-id",
			test_a_leased_file_is_not_waited_for_by_id);
	g_test_add_func("/kernel-ioctl/handles-are-not-for-everyone",
			test_handles_are_not_for_everyone);
	g_test_add_func("/kernel-ioctl/a-file-opens-by-name-without-proc",
			test_a_file_opens_by_name_without_proc);
	g_test_add_func("/kernel-ioctl/a-bind-mount-is-another-mount-and-a-subvolume-is-none",
			test_a_bind_mount_is_another_mount_and_a_subvolume_is_none);
	g_test_add_func("/kernel-ioctl/a-hole-is-no-extent", test_a_hole_is_no_extent);
	g_test_add_func("/kernel-ioctl/space-that-was-only-reserved-is-unwritten",
			test_space_that_was_only_reserved_is_unwritten);
	g_test_add_func("/kernel-ioctl/what-is-not-written-out-has-no-address-until-it-is",
			test_what_is_not_written_out_has_no_address_until_it_is);
	g_test_add_func("/kernel-ioctl/a-clone-is-shared-and-a-clipped-map-moves-along",
			test_a_clone_is_shared_and_a_clipped_map_moves_along);
	g_test_add_func("/kernel-ioctl/a-few-bytes-lie-inline-on-btrfs",
			test_a_few_bytes_lie_inline_on_btrfs);
	g_test_add_func("/kernel-ioctl/compressed-data-is-encoded",
			test_compressed_data_is_encoded);
	g_test_add_func("/kernel-ioctl/a-thousand-extents-come-in-order",
			test_a_thousand_extents_come_in_order);
	g_test_add_func("/kernel-ioctl/large-folios-go-when-dropped-from-the-start",
			test_large_folios_go_when_dropped_from_the_start);

	return g_test_run();
}
