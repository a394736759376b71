/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/fake-files.h"

#include <linux/btrfs_tree.h>
#include <string.h>
#include <sys/stat.h>

#define ROOT_TREE 1

const BtrfsInfo fake_files_info = {
	.checksum = BTRFS_CHECKSUM_CRC32C,
	.sum_bytes = 4,
	.sector_bytes = 4096,
	.node_bytes = 16384,
	.generation = FAKE_FILES_GENERATION,
};

FakeFiles *fake_files_new(void)
{
	FakeFiles *files = g_new0(FakeFiles, 1);

	files->items = g_array_new(false, false, sizeof(FakeItem));
	files->data = g_ptr_array_new_with_free_func(g_free);
	return files;
}

void fake_files_free(FakeFiles *files)
{
	g_array_unref(files->items);
	g_ptr_array_unref(files->data);
	g_free(files);
}

static int compare_items(const void *a, const void *b)
{
	const FakeItem *one = a, *other = b;

	if (one->tree != other->tree)
		return one->tree < other->tree ? -1 : 1;
	return btrfs_key_compare(&one->key, &other->key);
}

void fake_files_use(FakeFiles *files)
{
	g_array_sort(files->items, compare_items);
	*fake_btrfs() = (FakeBtrfs){
		.items = (const FakeItem *)(const void *)files->items->data,
		.n_items = files->items->len,
		.info.generation = FAKE_FILES_GENERATION,
		.info.flags = BTRFS_FS_INFO_FLAG_CSUM_INFO | BTRFS_FS_INFO_FLAG_GENERATION,
		.info.csum_size = 4,
		.info.sectorsize = 4096,
		.info.nodesize = 16384,
		.passes_others_on = true,
	};
}

void *fake_files_add(FakeFiles *files, uint64_t tree, BtrfsKey key, const void *data, size_t length,
		     uint64_t transid)
{
	void *kept = g_memdup2(data, length);
	FakeItem item = { tree, key, kept, (uint32_t)length, transid };

	g_ptr_array_add(files->data, kept);
	g_array_append_val(files->items, item);
	return kept;
}

void fake_files_add_subvolume(FakeFiles *files, uint64_t id, bool is_read_only)
{
	struct btrfs_root_item root = {
		.generation = GUINT64_TO_LE(UINT64_C(1)),
		.generation_v2 = GUINT64_TO_LE(UINT64_C(1)),
		.refs = GUINT32_TO_LE(1u),
		.flags = GUINT64_TO_LE(is_read_only ? (uint64_t)BTRFS_ROOT_SUBVOL_RDONLY
						    : UINT64_C(0)),
	};

	memcpy(root.uuid, &id, sizeof(id));
	fake_files_add(files, ROOT_TREE, (BtrfsKey){ id, BTRFS_ROOT_ITEM_KEY, 0 }, &root,
		       sizeof(root), 1);
}

void fake_files_add_inode(FakeFiles *files, uint64_t root, uint64_t inode, uint64_t size_bytes,
			  uint64_t flags, uint64_t transid)
{
	const struct btrfs_inode_item item = {
		.generation = GUINT64_TO_LE(UINT64_C(1)),
		.transid = GUINT64_TO_LE(transid),
		.size = GUINT64_TO_LE(size_bytes),
		.nlink = GUINT32_TO_LE(1u),
		.mode = GUINT32_TO_LE(S_IFREG | 0644u),
		.flags = GUINT64_TO_LE(flags),
	};

	fake_files_add(files, root, (BtrfsKey){ inode, BTRFS_INODE_ITEM_KEY, 0 }, &item,
		       sizeof(item), transid);
}

struct btrfs_file_extent_item *fake_files_add_reference(FakeFiles *files,
							const FakeReference *reference)
{
	const struct btrfs_file_extent_item item = {
		.generation = GUINT64_TO_LE(UINT64_C(1)),
		.ram_bytes = GUINT64_TO_LE(reference->ram_bytes),
		.compression = reference->is_compressed,
		.type = BTRFS_FILE_EXTENT_REG,
		.disk_bytenr = GUINT64_TO_LE(reference->bytenr),
		.disk_num_bytes = GUINT64_TO_LE(reference->disk_bytes),
		.offset = GUINT64_TO_LE(reference->position),
		.num_bytes = GUINT64_TO_LE(reference->length),
	};
	BtrfsKey key = { reference->inode, BTRFS_EXTENT_DATA_KEY, reference->offset };

	return fake_files_add(files, reference->root, key, &item, sizeof(item), 1);
}

typedef struct {
	struct btrfs_extent_item item;
	uint8_t type;
	struct btrfs_extent_data_ref ref;
} __attribute__((packed)) NamedExtent;

void fake_files_add_extent(FakeFiles *files, uint64_t bytenr, uint64_t disk_bytes, bool is_data,
			   uint64_t generation)
{
	const struct btrfs_extent_item item = {
		.refs = GUINT64_TO_LE(UINT64_C(1)),
		.generation = GUINT64_TO_LE(generation),
		.flags = GUINT64_TO_LE(is_data ? (uint64_t)BTRFS_EXTENT_FLAG_DATA
					       : (uint64_t)BTRFS_EXTENT_FLAG_TREE_BLOCK),
	};

	fake_files_add(files, BTRFS_EXTENT_TREE_OBJECTID,
		       (BtrfsKey){ bytenr, BTRFS_EXTENT_ITEM_KEY, disk_bytes }, &item, sizeof(item),
		       generation);
}

void fake_files_add_named_extent(FakeFiles *files, uint64_t bytenr, uint64_t disk_bytes,
				 uint64_t root, uint64_t inode, uint64_t offset)
{
	const NamedExtent item = {
		.item.refs = GUINT64_TO_LE(UINT64_C(1)),
		.item.generation = GUINT64_TO_LE(UINT64_C(1)),
		.item.flags = GUINT64_TO_LE((uint64_t)BTRFS_EXTENT_FLAG_DATA),
		.type = BTRFS_EXTENT_DATA_REF_KEY,
		.ref.root = GUINT64_TO_LE(root),
		.ref.objectid = GUINT64_TO_LE(inode),
		.ref.offset = GUINT64_TO_LE(offset),
		.ref.count = GUINT32_TO_LE(1u),
	};

	fake_files_add(files, BTRFS_EXTENT_TREE_OBJECTID,
		       (BtrfsKey){ bytenr, BTRFS_EXTENT_ITEM_KEY, disk_bytes }, &item, sizeof(item),
		       1);
}

void fake_files_add_sums(FakeFiles *files, uint64_t bytenr, const uint32_t *sums, size_t n_blocks)
{
	fake_files_add(files, BTRFS_CSUM_TREE_OBJECTID,
		       (BtrfsKey){ BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, bytenr },
		       sums, n_blocks * sizeof(*sums), 1);
}
