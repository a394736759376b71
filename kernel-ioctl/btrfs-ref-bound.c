/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs-ref-bound.h"

#include "kernel-ioctl/btrfs-items.h"
#include "kernel-ioctl/btrfs-subvolumes.h"
#include "kernel-ioctl/btrfs-tree.h"

#include <linux/btrfs_tree.h>
#include <string.h>

/*
 * Snapshots made since the subvolumes were read count only after a second, or after the time in which
 * reading them takes a twentieth.
 */
#define FAMILIES_USEC     G_USEC_PER_SEC
#define FAMILIES_FRACTION 20

/* The references of an extent are counted closely only up to so many: that takes 2 ms. */
#define CLOSELY_REFS_MAX     16384
#define CLOSELY_BUFFER_BYTES ((size_t)64 << 10)

/* A compressed extent shows more than it takes on the disk. */
#define COMPRESSED_BYTES_MAX (UINT64_C(128) << 10)
#define BLOCK_BYTES_MIN      UINT64_C(4096)

struct BtrfsRefBound {
	int fd;
	BtrfsTree *tree;
	uint64_t reserve;
	gint64 due_usec;         /* when the subvolumes are to be read again */
	GHashTable *families;    /* Family by id of a subvolume */
	uint64_t largest_family; /* with those that may belong to it */
};

/* Of a subvolume. */
typedef struct {
	uint64_t id; /* key */
	uint64_t number;
	uint64_t size;
} Family;

/* Where in a file of a family the extent's first byte shows, or would. */
typedef struct {
	uint64_t family;
	uint64_t inode;
	uint64_t offset;
	uint64_t count; /* references from there on; no key */
} Beginning;

typedef struct {
	GHashTable *beginnings; /* Beginning, a set */
	uint64_t blocks;        /* what can be shown from one beginning on */
	uint64_t most;
} Tally;

BtrfsRefBound *btrfs_ref_bound_new(int fd)
{
	BtrfsRefBound *bound = g_new0(BtrfsRefBound, 1);

	bound->fd = fd;
	bound->tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	bound->reserve = BTRFS_REF_BOUND_RESERVE;
	bound->families = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	return bound;
}

void btrfs_ref_bound_free(BtrfsRefBound *bound)
{
	if (!bound)
		return;

	btrfs_tree_free(bound->tree);
	g_hash_table_unref(bound->families);
	g_free(bound);
}

/* UUIDs are random: their first bytes do for a hash. */
static guint uuid_hash(const void *uuid)
{
	guint hash;

	memcpy(&hash, uuid, sizeof(hash));
	return hash;
}

static gboolean uuid_equal(const void *a, const void *b)
{
	return memcmp(a, b, FS_UUID_BYTES) == 0;
}

static bool has_uuid(const uint8_t *uuid)
{
	static const uint8_t none[FS_UUID_BYTES];

	return memcmp(uuid, none, sizeof(none)) != 0;
}

/* The number that stands for the family of @number, which shortens the way for the next time. */
static guint find_family(GArray *families, guint number)
{
	guint *up = (guint *)(void *)families->data;

	while (up[number] != number)
		number = up[number] = up[up[number]];
	return number;
}

/* Join the subvolume with the family of those that have @uuid, or are snapshots of what had it. */
static void join(GArray *families, GHashTable *by_uuid, uint8_t *uuid, guint number)
{
	gpointer known;

	if (!has_uuid(uuid))
		return;
	if (g_hash_table_lookup_extended(by_uuid, uuid, NULL, &known))
		g_array_index(families, guint, find_family(families, number)) =
			find_family(families, GPOINTER_TO_UINT(known));
	else
		g_hash_table_insert(by_uuid, uuid, GUINT_TO_POINTER(number));
}

/*
 * Subvolumes whose parent was deleted.  That was the link to their family, so an ordinary user could take a family
 * apart by deleting snapshots of snapshots: they may belong to any.
 */
static uint64_t count_lost(const GArray *subvolumes)
{
	g_autoptr(GHashTable) alive = g_hash_table_new(uuid_hash, uuid_equal);
	uint64_t n = 0;

	for (guint i = 0; i < subvolumes->len; i++)
		g_hash_table_add(alive, g_array_index(subvolumes, BtrfsSubvolume, i).uuid);
	for (guint i = 0; i < subvolumes->len; i++) {
		uint8_t *parent = g_array_index(subvolumes, BtrfsSubvolume, i).parent_uuid;

		n += has_uuid(parent) && !g_hash_table_contains(alive, parent);
	}

	return n;
}

static void count_families(BtrfsRefBound *bound, const GArray *subvolumes, GArray *families)
{
	g_autofree uint64_t *sizes = g_new0(uint64_t, subvolumes->len);
	uint64_t n_lost = count_lost(subvolumes);

	for (guint i = 0; i < subvolumes->len; i++) {
		uint64_t *size = &sizes[find_family(families, i)];

		++*size;
		bound->largest_family = MAX(bound->largest_family, *size + n_lost);
	}
	for (guint i = 0; i < subvolumes->len; i++) {
		Family *family = g_new(Family, 1);

		family->id = g_array_index(subvolumes, BtrfsSubvolume, i).id;
		family->number = find_family(families, i);
		family->size = sizes[family->number] + n_lost;
		g_hash_table_insert(bound->families, &family->id, family);
	}
}

/* Find out which subvolumes may share leaves: snapshots, what they are of, and theirs. */
static bool read_families(BtrfsRefBound *bound, GError **error)
{
	g_autoptr(GHashTable) by_uuid = g_hash_table_new(uuid_hash, uuid_equal);
	g_autoptr(GArray) families = g_array_new(false, false, sizeof(guint));
	g_autoptr(GArray) subvolumes = NULL;
	gint64 begun_usec = g_get_monotonic_time();
	gint64 now_usec;

	if (begun_usec < bound->due_usec)
		return true;
	if (!btrfs_subvolumes_read(bound->fd, &subvolumes, error))
		return false;

	g_hash_table_remove_all(bound->families);
	bound->largest_family = 1;
	for (guint i = 0; i < subvolumes->len; i++)
		g_array_append_val(families, i);
	for (guint i = 0; i < subvolumes->len; i++) {
		BtrfsSubvolume *subvolume = &g_array_index(subvolumes, BtrfsSubvolume, i);

		join(families, by_uuid, subvolume->uuid, i);
		join(families, by_uuid, subvolume->parent_uuid, i);
	}

	count_families(bound, subvolumes, families);
	now_usec = g_get_monotonic_time();
	bound->due_usec =
		now_usec + MAX(FAMILIES_USEC, (now_usec - begun_usec) * FAMILIES_FRACTION);
	return true;
}

/* The families of all that have @ref: of one subvolume, or of any, as a leaf does not tell. */
static uint64_t family_of(const BtrfsRefBound *bound, const BtrfsExtentRef *ref)
{
	const Family *family = ref->kind == BTRFS_EXTENT_REF_FILE
				       ? g_hash_table_lookup(bound->families, &ref->root)
				       : NULL;

	return family ? family->size : bound->largest_family;
}

/* As if each leaf with a reference were part of each subvolume of the family. */
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

	return most + left * bound->largest_family;
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
	const Family *family = g_hash_table_lookup(bound->families, &ref->root);
	Beginning asked = { family ? family->number : 0, ref->inode, ref->offset, 0 };
	Beginning *known;
	uint64_t more;

	if (ref->kind != BTRFS_EXTENT_REF_FILE || !family) {
		tally->most += ref->count * bound->largest_family;
		return;
	}

	known = g_hash_table_lookup(tally->beginnings, &asked);
	if (!known) {
		known = g_memdup2(&asked, sizeof(asked));
		g_hash_table_add(tally->beginnings, known);
	}
	more = MIN(ref->count, tally->blocks - known->count);
	known->count += more;
	tally->most += more * family->size;
}

/*
 * The same, more closely: what shows the extent from one byte of a file on are different blocks of it.  A
 * small subvolume is one leaf, of which each snapshot has a copy with references of its own.
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
	if (!read_families(bound, error))
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

void btrfs_ref_bound_charge(BtrfsRefBound *bound, uint64_t found)
{
	if (found > BTRFS_REF_BOUND_FREE)
		bound->reserve -= MIN(found, bound->reserve);
}
