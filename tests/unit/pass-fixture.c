/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/pass-fixture.h"

#include "hashstore/objects/names.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/dedupe-range.h"
#include "kernel-ioctl/file/file-stat.h"

#include <linux/btrfs_tree.h>
#include <string.h>

#define UUID "3d0e6d5b-7c4f-4b4a-9d51-0c5e8a1b2c3d"

#define DIRECTORY_INODE 64

static HashStore *open_store(const PassFixture *fixture)
{
	HashStoreOptions options = {
		.directory = fixture->settings.state_directory,
		.uuid = UUID,
		.kind = "XFS",
		.block_bytes = FIXTURE_BLOCK_BYTES,
		.anchor_blocks = FIXTURE_ANCHOR_BLOCKS,
		.window_anchors = 16,
		.memory_bytes = 1 << 20,
	};
	g_autoptr(GError) error = NULL;
	HashStore *store = hash_store_open(&options, &error);

	g_assert_no_error(error);
	return store;
}

PassFixture *pass_fixture_new(void)
{
	PassFixture *fixture = g_new0(PassFixture, 1);

	fixture->scratch = scratch_new();
	fixture->settings.state_directory = scratch_path(fixture->scratch, "state");
	fixture->settings.memory_bytes = 8 << 20;
	fixture->settings.no_data_cow = NO_COW_SHARE;

	fixture->filesystem.identity.kind = FS_KIND_XFS;
	fixture->filesystem.identity.block_bytes = FIXTURE_BLOCK_BYTES;
	memcpy(fixture->filesystem.uuid, UUID, sizeof(UUID));
	fixture->filesystem.mount_point = g_strdup(fixture->scratch->path);
	fixture->filesystem.fd = fixture->scratch->fd;

	fixture->pass = (Pass){
		.window_bytes = DEDUPE_ROUND_BYTES,
		.settings = &fixture->settings,
		.filesystem = &fixture->filesystem,
		.stop = &fixture->stop,
		.progress = &fixture->progress,
		.block_bytes = FIXTURE_BLOCK_BYTES,
		.store = open_store(fixture),
		.result = &fixture->result,
	};
	fixture->opener = file_opener_new(&fixture->filesystem, fixture->pass.store);
	return fixture;
}

void pass_fixture_free(PassFixture *fixture)
{
	if (!fixture)
		return;

	file_opener_free(fixture->opener);
	hash_store_close(fixture->pass.store);
	pass_result_clear(&fixture->result);
	settings_clear(&fixture->settings);
	g_clear_pointer(&fixture->filesystem.roots, g_ptr_array_unref);
	g_free(fixture->filesystem.mount_point);
	scratch_free(fixture->scratch);
	g_free(fixture);
}

void pass_fixture_pose_as_btrfs(PassFixture *fixture, int fd)
{
	Filesystem *filesystem = &fixture->filesystem;

	filesystem->fd = fd;
	filesystem->identity.kind = FS_KIND_BTRFS;
	filesystem->identity.uuid[0] = 1;
	fixture->top = (FilesystemRoot){ .path = filesystem->mount_point,
					 .subvolume = BTRFS_SUBVOLUME_TOP,
					 .inode = BTRFS_FIRST_FREE_OBJECTID,
					 .is_top = true };
	filesystem->roots = g_ptr_array_new();
	g_ptr_array_add(filesystem->roots, &fixture->top);
	fixture->settings.min_size_bytes = SETTINGS_MIN_SIZE_UNSET;
}

uint32_t pass_fixture_put_object(PassFixture *fixture, const Object *object)
{
	g_autofree char *name = NULL;
	g_autoptr(GError) error = NULL;
	Object row = *object;

	if (!hash_store_new_object(fixture->pass.store, &row.id, &error))
		g_error("%s", error->message);

	name = g_strdup_printf("object-%u", row.id);
	row.inode = row.inode ? row.inode : 1000 + row.id;
	row.parent = row.parent ? row.parent : DIRECTORY_INODE;
	row.name = (const uint8_t *)name;
	row.name_bytes = strlen(name);
	if (!hash_store_put(fixture->pass.store, &row, &error))
		g_error("%s", error->message);

	return row.id;
}

uint32_t pass_fixture_put(PassFixture *fixture, uint64_t blocks, unsigned flags)
{
	return pass_fixture_put_object(fixture, &(Object){
							.size_bytes = blocks * FIXTURE_BLOCK_BYTES,
							.state = OBJECT_DONE,
							.flags = flags,
						});
}

uint64_t pass_fixture_put_root(PassFixture *fixture)
{
	const char *path = fixture->scratch->path;
	DirectoryName row = { .name = (const uint8_t *)path, .name_bytes = strlen(path) };
	g_autoptr(GError) error = NULL;
	FileStat stat;

	g_assert_cmpint(file_stat_at(fixture->scratch->fd, "", &stat), ==, 0);
	row.inode = stat.inode;
	if (!hash_store_put_directory(fixture->pass.store, &row, &error))
		g_error("%s", error->message);

	return stat.inode;
}

uint32_t pass_fixture_put_file(PassFixture *fixture, size_t size_bytes, unsigned flags)
{
	uint32_t id = hash_store_next_object(fixture->pass.store);
	g_autofree char *name = g_strdup_printf("object-%u", id);
	g_auto(Fd) fd = scratch_create(fixture->scratch, name, size_bytes, id);
	FileStat stat;

	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	return pass_fixture_put_object(fixture, &(Object){
							.inode = stat.inode,
							.parent = pass_fixture_put_root(fixture),
							.size_bytes = size_bytes,
							.btime_nsec = stat.btime_nsec,
							.mtime_nsec = stat.mtime_nsec,
							.ctime_nsec = stat.ctime_nsec,
							.state = OBJECT_DONE,
							.flags = flags,
						});
}

void pass_fixture_put_anchor(PassFixture *fixture, uint64_t digest, uint32_t object, uint32_t block)
{
	Anchor anchor = { digest, object, block };
	g_autoptr(GError) error = NULL;

	if (!hash_store_put_anchor(fixture->pass.store, &anchor, &error))
		g_error("%s", error->message);
}

static bool all_live(uint32_t object, void *data)
{
	return true;
}

static void commit(PassFixture *fixture)
{
	g_autoptr(GError) error = NULL;

	if (!hash_store_commit(fixture->pass.store, &error))
		g_error("%s", error->message);
}

void pass_fixture_settle(PassFixture *fixture)
{
	g_autoptr(GError) error = NULL;

	commit(fixture);
	if (!hash_store_settle(fixture->pass.store, all_live, NULL, &error))
		g_error("%s", error->message);
	commit(fixture);
}

ObjectTable *pass_fixture_table(PassFixture *fixture)
{
	g_autoptr(GError) error = NULL;
	ObjectTable *table;

	commit(fixture);
	table = object_table_new(fixture->pass.store, RANK_BY_GAIN, &fixture->settings, NULL,
				 &error);
	g_assert_no_error(error);
	return table;
}
