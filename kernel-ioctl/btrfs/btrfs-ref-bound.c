/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-ref-bound.h"

#include "kernel-ioctl/btrfs/btrfs-items.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <linux/btrfs_tree.h>

/*
 * Extents with more references are not counted closely.  Counting these takes 8 ms if each has an item of its
 * own.
 */
#define CLOSELY_REFS_MAX     65536
#define CLOSELY_BUFFER_BYTES ((size_t)64 << 10)

/* A compressed extent has more bytes in files than on the disk. */
#define COMPRESSED_BYTES_MAX (UINT64_C(128) << 10)
#define BLOCK_BYTES_MIN      UINT64_C(4096)

struct BtrfsRefBound {
	int fd;
	BtrfsTree *tree;
	uint64_t reserve;
	BtrfsFamilies *families;
};

/* The position in a file, of one family, at which the extent's first byte would lie. */
typedef struct {
	uint64_t family;
	uint64_t inode;
	uint64_t offset;
	uint64_t count; /* references with this beginning; not part of the key */
} Beginning;

typedef struct {
	GHashTable *beginnings; /* Beginning, a set */
	uint64_t blocks;        /* blocks that can be referenced from one beginning */
	uint64_t most;
} Tally;

BtrfsRefBound *btrfs_ref_bound_new(int fd)
{
	BtrfsRefBound *bound = g_new0(BtrfsRefBound, 1);

	bound->fd = fd;
	bound->tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	bound->reserve = BTRFS_REF_BOUND_RESERVE;
	bound->families = btrfs_families_new(fd);
	return bound;
}

void btrfs_ref_bound_free(BtrfsRefBound *bound)
{
	if (!bound)
		return;

	btrfs_tree_free(bound->tree);
	btrfs_families_free(bound->families);
	g_free(bound);
}

/* The size of the family of the subvolume in @ref.  A leaf may belong to any family, so take the largest. */
static uint64_t family_of(const BtrfsRefBound *bound, const BtrfsExtentRef *ref)
{
	const BtrfsMember *member = ref->kind == BTRFS_EXTENT_REF_FILE
					    ? btrfs_families_find(bound->families, ref->root)
					    : NULL;

	return member ? member->size : btrfs_families_largest(bound->families);
}

/* Count each leaf with a reference as part of each subvolume of its family. */
static uint64_t count_roughly(const BtrfsRefBound *bound, const BtrfsExtentItem *item)
{
	uint64_t left = item->refs;
	const BtrfsExtentRef *ref;
	BtrfsExtentRefs refs;
	uint64_t most = 0;

	btrfs_extent_refs_start(&refs, item);
	while (btrfs_extent_refs_next(&refs, &ref) && ref) {
		uint64_t count = MIN(ref->count, left);

		most += count * family_of(bound, ref);
		left -= count;
	}

	return most + left * btrfs_families_largest(bound->families);
}

static guint beginning_hash(const void *data)
{
	const Beginning *beginning = data;
	uint64_t mixed = beginning->inode * UINT64_C(0x9e3779b97f4a7c15) ^ beginning->offset ^
			 beginning->family << 32;

	return (guint)(mixed ^ mixed >> 32);
}

static gboolean beginning_equal(const void *a, const void *b)
{
	const Beginning *one = a, *other = b;

	return one->family == other->family && one->inode == other->inode &&
	       one->offset == other->offset;
}

static void tally_add(Tally *tally, const BtrfsRefBound *bound, const BtrfsExtentRef *ref)
{
	const BtrfsMember *member = btrfs_families_find(bound->families, ref->root);
	Beginning asked = { member ? member->family : 0, ref->inode, ref->offset, 0 };
	Beginning *known;
	uint64_t more;

	if (ref->kind != BTRFS_EXTENT_REF_FILE || !member) {
		tally->most += ref->count * btrfs_families_largest(bound->families);
		return;
	}

	known = g_hash_table_lookup(tally->beginnings, &asked);
	if (!known) {
		known = g_memdup2(&asked, sizeof(asked));
		g_hash_table_add(tally->beginnings, known);
	}
	more = MIN(ref->count, tally->blocks - known->count);
	known->count += more;
	tally->most += more * member->size;
}

/*
 * Count more closely: references with one beginning map different blocks of the extent.  A small subvolume is
 * one leaf, and each snapshot has a copy of it with references of its own.
 */
static bool count_closely(BtrfsRefBound *bound, uint64_t bytenr, uint64_t *ret, GError **error)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.first = { bytenr, BTRFS_EXTENT_ITEM_KEY, 0 },
		.last = { bytenr, BTRFS_SHARED_DATA_REF_KEY, UINT64_MAX },
	};
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(CLOSELY_BUFFER_BYTES);
	g_autoptr(GHashTable) beginnings =
		g_hash_table_new_full(beginning_hash, beginning_equal, g_free, NULL);
	Tally tally = { .beginnings = beginnings };
	const BtrfsTreeItem *found;

	btrfs_tree_start(tree, bound->fd, &range);
	for (;;) {
		const BtrfsExtentRef *ref;
		BtrfsExtentRef single;
		BtrfsExtentRefs refs;
		BtrfsExtentItem item;

		if (!btrfs_tree_next_if_any(tree, &found, error))
			return false;
		if (!found)
			break;
		if (found->key.type != BTRFS_EXTENT_ITEM_KEY) {
			if (btrfs_extent_ref_item_read(found->key.type, found->key.offset,
						       found->data, found->length, &single))
				tally_add(&tally, bound, &single);
			continue;
		}
		if (!btrfs_extent_item_read(found->data, found->length, &item) || !item.is_data)
			break;
		tally.blocks = MAX(found->key.offset, COMPRESSED_BYTES_MAX) / BLOCK_BYTES_MIN;
		btrfs_extent_refs_start(&refs, &item);
		while (btrfs_extent_refs_next(&refs, &ref) && ref)
			tally_add(&tally, bound, ref);
	}

	*ret = tally.most;
	return true;
}

bool btrfs_ref_bound_allows(BtrfsRefBound *bound, uint64_t bytenr, bool *ret, uint64_t *ret_most,
			    GError **error)
{
	const BtrfsTreeRange range = {
		.tree = BTRFS_EXTENT_TREE_OBJECTID,
		.first = { bytenr, BTRFS_EXTENT_ITEM_KEY, 0 },
		.last = { bytenr, BTRFS_EXTENT_ITEM_KEY, UINT64_MAX },
	};
	const BtrfsTreeItem *found;
	BtrfsExtentItem item;
	uint64_t closely;

	*ret = true;
	*ret_most = 0;
	if (!btrfs_families_look(bound->families, error))
		return false;
	btrfs_tree_start(bound->tree, bound->fd, &range);
	if (!btrfs_tree_next_if_any(bound->tree, &found, error))
		return false;
	if (!found || !btrfs_extent_item_read(found->data, found->length, &item) || !item.is_data)
		return true;

	*ret_most = count_roughly(bound, &item);
	if (*ret_most > BTRFS_REF_BOUND_FREE && item.refs <= CLOSELY_REFS_MAX) {
		if (!count_closely(bound, bytenr, &closely, error))
			return false;
		*ret_most = MIN(*ret_most, closely);
	}
	*ret = *ret_most <= BTRFS_REF_BOUND_FREE ||
	       (*ret_most <= BTRFS_REF_BOUND_MOST && bound->reserve > 0);
	return true;
}

bool btrfs_ref_bound_is_free(const BtrfsRefBound *bound, uint64_t n_refs)
{
	return n_refs <= BTRFS_REF_BOUND_FREE / btrfs_families_largest(bound->families);
}

BtrfsFamilies *btrfs_ref_bound_families(BtrfsRefBound *bound)
{
	return bound->families;
}

void btrfs_ref_bound_charge(BtrfsRefBound *bound, uint64_t found)
{
	if (found > BTRFS_REF_BOUND_FREE)
		bound->reserve -= MIN(found, bound->reserve);
}
