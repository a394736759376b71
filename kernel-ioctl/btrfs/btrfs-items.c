/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-items.h"

#include "kernel-ioctl/call/timestamp.h"

#include <linux/btrfs_tree.h>
#include <stddef.h>
#include <string.h>

/* Since Linux 6.7, not in older headers.  The reference is a type, then the id of a subvolume. */
#define EXTENT_OWNER_REF_KEY 172

/* Bits of an inode's flags.  Only headers since Linux 6.3 have them (fs/btrfs/btrfs_inode.h). */
#define INODE_NODATASUM (UINT64_C(1) << 0)
#define INODE_NODATACOW (UINT64_C(1) << 1)
#define INODE_IMMUTABLE (UINT64_C(1) << 6)

/* A reference's first byte is its type. */
#define TYPE_BYTES 1

G_STATIC_ASSERT(sizeof(struct btrfs_extent_item) == 24);
G_STATIC_ASSERT(sizeof(struct btrfs_file_extent_item) == 53);
G_STATIC_ASSERT(sizeof(struct btrfs_inode_item) == 160);
G_STATIC_ASSERT(sizeof(struct btrfs_root_item) == 439);
G_STATIC_ASSERT(sizeof(struct btrfs_inode_ref) == 10);
G_STATIC_ASSERT(sizeof(struct btrfs_inode_extref) == 18);

bool btrfs_extent_item_read(const uint8_t *data, uint32_t length, BtrfsExtentItem *ret)
{
	struct btrfs_extent_item item;
	uint64_t kind;

	if (length < sizeof(item))
		return false;
	memcpy(&item, data, sizeof(item));
	kind = GUINT64_FROM_LE(item.flags) &
	       (BTRFS_EXTENT_FLAG_DATA | BTRFS_EXTENT_FLAG_TREE_BLOCK);
	if (kind != BTRFS_EXTENT_FLAG_DATA && kind != BTRFS_EXTENT_FLAG_TREE_BLOCK)
		return false;

	*ret = (BtrfsExtentItem){
		.refs = GUINT64_FROM_LE(item.refs),
		.generation = GUINT64_FROM_LE(item.generation),
		.is_data = kind == BTRFS_EXTENT_FLAG_DATA,
	};
	if (ret->is_data) {
		ret->inline_refs = data + sizeof(item);
		ret->inline_refs_bytes = length - (uint32_t)sizeof(item);
	}
	return true;
}

void btrfs_extent_refs_start(BtrfsExtentRefs *refs, const BtrfsExtentItem *item)
{
	*refs = (BtrfsExtentRefs){ .next = item->inline_refs, .n_left = item->inline_refs_bytes };
}

static void read_file_ref(const uint8_t *data, BtrfsExtentRef *ret)
{
	struct btrfs_extent_data_ref ref;

	memcpy(&ref, data, sizeof(ref));
	*ret = (BtrfsExtentRef){
		.kind = BTRFS_EXTENT_REF_FILE,
		.count = GUINT32_FROM_LE(ref.count),
		.root = GUINT64_FROM_LE(ref.root),
		.inode = GUINT64_FROM_LE(ref.objectid),
		.offset = GUINT64_FROM_LE(ref.offset),
	};
}

static void read_leaf_ref(uint64_t parent, const uint8_t *data, BtrfsExtentRef *ret)
{
	struct btrfs_shared_data_ref ref;

	memcpy(&ref, data, sizeof(ref));
	*ret = (BtrfsExtentRef){
		.kind = BTRFS_EXTENT_REF_LEAF,
		.count = GUINT32_FROM_LE(ref.count),
		.parent = parent,
	};
}

bool btrfs_extent_ref_item_read(uint8_t type, uint64_t key_offset, const uint8_t *data,
				uint32_t length, BtrfsExtentRef *ret)
{
	switch (type) {
	case BTRFS_EXTENT_DATA_REF_KEY:
		if (length < sizeof(struct btrfs_extent_data_ref))
			return false;
		read_file_ref(data, ret);
		return true;
	case BTRFS_SHARED_DATA_REF_KEY:
		if (length < sizeof(struct btrfs_shared_data_ref))
			return false;
		read_leaf_ref(key_offset, data, ret);
		return true;
	default:
		return false;
	}
}

/* Bytes of an inline reference with its type; 0 if the type is unknown. */
static uint32_t inline_ref_bytes(uint8_t type)
{
	switch (type) {
	case BTRFS_EXTENT_DATA_REF_KEY:
		return TYPE_BYTES + sizeof(struct btrfs_extent_data_ref);
	case BTRFS_SHARED_DATA_REF_KEY:
		return sizeof(struct btrfs_extent_inline_ref) +
		       sizeof(struct btrfs_shared_data_ref);
	case EXTENT_OWNER_REF_KEY:
		return sizeof(struct btrfs_extent_inline_ref);
	default:
		return 0;
	}
}

static void read_inline_ref(const uint8_t *data, BtrfsExtentRef *ret)
{
	struct btrfs_extent_inline_ref ref;

	if (*data == BTRFS_EXTENT_DATA_REF_KEY) {
		read_file_ref(data + TYPE_BYTES, ret);
		return;
	}
	memcpy(&ref, data, sizeof(ref));
	read_leaf_ref(GUINT64_FROM_LE(ref.offset), data + sizeof(ref), ret);
}

static uint64_t read_owner(const uint8_t *data)
{
	struct btrfs_extent_inline_ref ref;

	memcpy(&ref, data, sizeof(ref));
	return GUINT64_FROM_LE(ref.offset);
}

bool btrfs_extent_refs_next(BtrfsExtentRefs *refs, const BtrfsExtentRef **ret)
{
	*ret = NULL;

	while (refs->n_left > 0 && !*ret) {
		const uint8_t *ref = refs->next;
		uint32_t bytes = inline_ref_bytes(*ref);

		if (bytes == 0 || bytes > refs->n_left)
			return false;
		refs->next += bytes;
		refs->n_left -= bytes;
		if (*ref == EXTENT_OWNER_REF_KEY) {
			refs->owner = read_owner(ref);
			continue;
		}

		read_inline_ref(ref, &refs->current);
		*ret = &refs->current;
	}

	return true;
}

bool btrfs_csum_item_read(const uint8_t *data, uint32_t length, uint32_t sum_bytes,
			  BtrfsCsumItem *ret)
{
	if (sum_bytes == 0 || length == 0 || length % sum_bytes != 0)
		return false;

	*ret = (BtrfsCsumItem){ .sums = data, .n_sums = length / sum_bytes };
	return true;
}

static bool read_extent_in_place(const uint8_t *data, uint32_t length, BtrfsFileExtentItem *ret)
{
	struct btrfs_file_extent_item item;

	if (length < sizeof(item))
		return false;
	memcpy(&item, data, sizeof(item));

	ret->bytenr = GUINT64_FROM_LE(item.disk_bytenr);
	ret->disk_bytes = GUINT64_FROM_LE(item.disk_num_bytes);
	ret->offset = GUINT64_FROM_LE(item.offset);
	ret->length = GUINT64_FROM_LE(item.num_bytes);
	return ret->offset <= UINT64_MAX - ret->length;
}

bool btrfs_file_extent_item_read(const uint8_t *data, uint32_t length, BtrfsFileExtentItem *ret)
{
	const uint32_t common_bytes = offsetof(struct btrfs_file_extent_item, disk_bytenr);
	struct btrfs_file_extent_item item;

	if (length < common_bytes)
		return false;
	memcpy(&item, data, common_bytes);
	*ret = (BtrfsFileExtentItem){
		.generation = GUINT64_FROM_LE(item.generation),
		.is_encoded = item.compression || item.encryption || item.other_encoding,
		.compression = item.compression,
		.ram_bytes = GUINT64_FROM_LE(item.ram_bytes),
	};

	switch (item.type) {
	case BTRFS_FILE_EXTENT_INLINE:
		ret->kind = BTRFS_FILE_EXTENT_IS_INLINE;
		ret->length = ret->ram_bytes;
		return true;
	case BTRFS_FILE_EXTENT_REG:
		ret->kind = BTRFS_FILE_EXTENT_IS_REGULAR;
		return read_extent_in_place(data, length, ret);
	case BTRFS_FILE_EXTENT_PREALLOC:
		ret->kind = BTRFS_FILE_EXTENT_IS_PREALLOC;
		return read_extent_in_place(data, length, ret);
	default:
		return false;
	}
}

static int64_t nsec_of(const struct btrfs_timespec *time)
{
	return timestamp_nsec((int64_t)GUINT64_FROM_LE(time->sec), GUINT32_FROM_LE(time->nsec));
}

bool btrfs_inode_item_read(const uint8_t *data, uint32_t length, BtrfsInodeItem *ret)
{
	struct btrfs_inode_item item;
	uint64_t flags;

	if (length < sizeof(item))
		return false;
	memcpy(&item, data, sizeof(item));

	flags = GUINT64_FROM_LE(item.flags);
	*ret = (BtrfsInodeItem){
		.generation = GUINT64_FROM_LE(item.generation),
		.transid = GUINT64_FROM_LE(item.transid),
		.size_bytes = GUINT64_FROM_LE(item.size),
		.allocated_bytes = GUINT64_FROM_LE(item.nbytes),
		.nlink = GUINT32_FROM_LE(item.nlink),
		.uid = GUINT32_FROM_LE(item.uid),
		.mode = GUINT32_FROM_LE(item.mode),
		.is_no_sum = flags & INODE_NODATASUM,
		.is_no_cow = flags & INODE_NODATACOW,
		.is_immutable = flags & INODE_IMMUTABLE,
		.mtime_nsec = nsec_of(&item.mtime),
		.ctime_nsec = nsec_of(&item.ctime),
		.otime_nsec = nsec_of(&item.otime),
	};
	return true;
}

bool btrfs_root_item_read(const uint8_t *data, uint32_t length, BtrfsRootItem *ret)
{
	struct btrfs_root_item item = { 0 };
	uint64_t flags;

	if (length < offsetof(struct btrfs_root_item, generation_v2))
		return false;
	memcpy(&item, data, MIN(length, sizeof(item)));

	flags = GUINT64_FROM_LE(item.flags);
	*ret = (BtrfsRootItem){
		.generation = GUINT64_FROM_LE(item.generation),
		.bytenr = GUINT64_FROM_LE(item.bytenr),
		.level = item.level,
		.refs = GUINT32_FROM_LE(item.refs),
		.is_read_only = flags & BTRFS_ROOT_SUBVOL_RDONLY,
		.is_dead = item.refs == 0 || flags & BTRFS_ROOT_SUBVOL_DEAD,
	};

	/* An older kernel updates the generation only, and leaves the fields behind it stale. */
	if (length >= sizeof(item) && item.generation_v2 == item.generation) {
		ret->otransid = GUINT64_FROM_LE(item.otransid);
		ret->otime_nsec = nsec_of(&item.otime);
		memcpy(ret->uuid, item.uuid, sizeof(ret->uuid));
		memcpy(ret->parent_uuid, item.parent_uuid, sizeof(ret->parent_uuid));
	}
	return true;
}

bool btrfs_root_ref_read(const uint8_t *data, uint32_t length, BtrfsRootRef *ret)
{
	struct btrfs_root_ref ref;

	if (length < sizeof(ref))
		return false;
	memcpy(&ref, data, sizeof(ref));

	*ret = (BtrfsRootRef){
		.directory = GUINT64_FROM_LE(ref.dirid),
		.name = data + sizeof(ref),
		.name_bytes = GUINT16_FROM_LE(ref.name_len),
	};
	return ret->name_bytes <= length - sizeof(ref);
}

void btrfs_inode_names_start(BtrfsInodeNames *refs, uint8_t type, uint64_t key_offset,
			     const uint8_t *data, uint32_t length)
{
	bool has_names = type == BTRFS_INODE_REF_KEY || type == BTRFS_INODE_EXTREF_KEY;

	*refs = (BtrfsInodeNames){
		.type = type,
		.key_offset = key_offset,
		.next = data,
		.n_left = has_names ? length : 0,
	};
}

/* Read the header before the name.  Returns its bytes, or 0 if the item is too short. */
static uint32_t read_inode_ref(const BtrfsInodeNames *refs, BtrfsInodeName *ret)
{
	struct btrfs_inode_extref extended;
	struct btrfs_inode_ref plain;

	if (refs->type == BTRFS_INODE_REF_KEY) {
		if (refs->n_left < sizeof(plain))
			return 0;
		memcpy(&plain, refs->next, sizeof(plain));
		ret->directory = refs->key_offset;
		ret->name_bytes = GUINT16_FROM_LE(plain.name_len);
		return sizeof(plain);
	}

	if (refs->n_left < sizeof(extended))
		return 0;
	memcpy(&extended, refs->next, sizeof(extended));
	ret->directory = GUINT64_FROM_LE(extended.parent_objectid);
	ret->name_bytes = GUINT16_FROM_LE(extended.name_len);
	return sizeof(extended);
}

bool btrfs_inode_names_next(BtrfsInodeNames *refs, const BtrfsInodeName **ret)
{
	uint32_t head_bytes;

	*ret = NULL;
	if (refs->n_left == 0)
		return true;

	head_bytes = read_inode_ref(refs, &refs->current);
	if (head_bytes == 0 || refs->current.name_bytes == 0 ||
	    refs->current.name_bytes > refs->n_left - head_bytes)
		return false;

	refs->current.name = refs->next + head_bytes;
	refs->next += head_bytes + refs->current.name_bytes;
	refs->n_left -= head_bytes + refs->current.name_bytes;
	*ret = &refs->current;
	return true;
}
