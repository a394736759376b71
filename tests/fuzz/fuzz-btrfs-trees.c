/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/extent-sums.h"
#include "common/files/extent-refs.h"
#include "daemon/btrfs/find/stretch.h"
#include "hashstore/hash-store.h"
#include "kernel-ioctl/btrfs/btrfs-inode.h"
#include "kernel-ioctl/btrfs/btrfs-names.h"
#include "kernel-ioctl/btrfs/btrfs-refs.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hostile-btrfs.h"

#include <linux/btrfs_tree.h>
#include <string.h>

#define FD 1000

#define STEPS 12

/* More than the btrfs has items. */
#define ITEMS_MAX 4096

#define CLIMB_MAX 1000

const char *const fuzz_seeds[] = { NULL };

typedef struct {
	Choices *choices;
	BtrfsTree *tree;
	BtrfsFileExtents *extents;
	BtrfsNames *names;
	BtrfsRefs *refs;
	ExtentRefs *places;
	ExtentSums *sums;
} Readers;

static uint64_t any_address(Choices *choices)
{
	return choices_number(choices,
			      HOSTILE_ADDRESS + choices_below(choices, 800) * HOSTILE_BLOCK_BYTES);
}

static uint64_t any_root(Choices *choices)
{
	return choices_number(choices,
			      hostile_subvolumes[choices_below(choices, HOSTILE_SUBVOLUMES)]);
}

static uint64_t any_inode(Choices *choices)
{
	return choices_number(choices, HOSTILE_FIRST_INODE - 1 +
					       choices_below(choices, HOSTILE_FILES_MAX + 1));
}

/* Items come in order, lie in the range, and can be read to their last byte. */
static void walk(Readers *readers)
{
	static const uint64_t trees[] = { 1, 2, 7, 5, 256 };
	Choices *choices = readers->choices;
	const BtrfsTreeRange range = {
		.tree = trees[choices_below(choices, G_N_ELEMENTS(trees))],
		.last = { choices_number(choices, UINT64_MAX), UINT8_MAX, UINT64_MAX },
		.min_transid = choices_below(choices, 2) * HOSTILE_GENERATION,
	};
	g_autoptr(GError) error = NULL;
	BtrfsKey last = { 0 };
	const BtrfsTreeItem *item;
	unsigned n = 0;

	btrfs_tree_start(readers->tree, FD, &range);
	while (btrfs_tree_next(readers->tree, &item, &error) && item) {
		volatile uint8_t sum = 0;

		g_assert_true(n == 0 || btrfs_key_compare(&last, &item->key) < 0);
		g_assert_cmpint(btrfs_key_compare(&item->key, &range.last), <=, 0);
		for (uint32_t i = 0; i < item->length; i++)
			sum = (uint8_t)(sum ^ item->data[i]);
		last = item->key;
		g_assert_cmpuint(n++, <, ITEMS_MAX);
	}
	g_assert_true(btrfs_tree_next(readers->tree, &item, NULL));
	g_assert_null(item);
}

static void read_extents(Readers *readers)
{
	Choices *choices = readers->choices;
	const StretchPlace place = {
		.root = any_root(choices),
		.inode = any_inode(choices),
		.offset = choices_number(choices, choices_below(choices, 100) * 4096),
		.length = choices_number(choices, UINT64_C(1) << choices_below(choices, 30)),
	};
	g_autoptr(GArray) parts = g_array_new(false, false, sizeof(StretchPart));
	g_autoptr(GArray) joined = g_array_new(false, true, sizeof(uint64_t));
	const StretchPart *all;

	if (!stretch_read_parts(readers->extents, FD, &place, parts, NULL))
		return;

	all = (const StretchPart *)(const void *)parts->data;
	for (guint i = 0; i < parts->len; i++) {
		g_assert_cmpuint(all[i].length, >, 0);
		g_assert_cmpuint(all[i].offset, >=, place.offset);
		g_assert_cmpuint(all[i].offset - place.offset, <, place.length);
		g_assert_cmpuint(all[i].length, <=, place.length - (all[i].offset - place.offset));
		if (i > 0)
			g_assert_cmpuint(all[i].offset, >=, all[i - 1].offset + all[i - 1].length);
	}
	if (parts->len > 0 && stretch_read_sums(readers->sums, place.offset, all, parts->len,
						HOSTILE_BLOCK_BYTES, joined, NULL))
		g_assert_cmpuint(joined->len, <=, place.length / HOSTILE_BLOCK_BYTES + 1);
}

/* Each name has its end, and the way up has one, if it is no circle. */
static void climb(Readers *readers)
{
	Choices *choices = readers->choices;
	const BtrfsName *name;
	unsigned n = 0;

	btrfs_names_start(readers->names, any_root(choices), any_inode(choices));
	while (btrfs_names_next(readers->names, &name, NULL) && name) {
		g_assert_cmpuint(n++, <, ITEMS_MAX);
		for (unsigned i = 0; name && i < CLIMB_MAX; i++) {
			g_assert_cmpuint(strlen(name->name), <=, UINT16_MAX);
			if (!btrfs_names_of_directory(readers->names, name->root, name->directory,
						      &name, NULL))
				break;
		}
	}
}

static void read_refs(Readers *readers)
{
	Choices *choices = readers->choices;
	const Object extent = {
		.inode = any_address(choices),
		.size_bytes = (1 + choices_below(choices, 40)) * HOSTILE_BLOCK_BYTES,
	};
	size_t most = 1 + (size_t)choices_below(choices, 10);
	ExtentRefsOutcome outcome;
	BtrfsRefsOutcome found;
	size_t n;

	if (btrfs_refs_read(readers->refs, FD, extent.inode, &found, NULL)) {
		const BtrfsRef *refs = btrfs_refs_list(readers->refs, &n);
		volatile uint64_t sum = 0;

		g_assert_cmpuint(n, <=, BTRFS_REFS_MAX);
		for (size_t i = 0; i < n; i++)
			sum = sum ^ refs[i].root;
	}
	if (!extent_refs_read(readers->places, &extent, most, &outcome, NULL))
		return;
	const ExtentRef *list = extent_refs_list(readers->places, &n);
	g_assert_cmpuint(n, <=, most);
	for (size_t i = 0; i < n; i++)
		g_assert_cmpuint(extent_ref_shown_bytes(&list[i]), <=, list[i].length);
}

static void read_sums(Readers *readers)
{
	uint64_t sums[700];
	size_t n = 1 + (size_t)choices_below(readers->choices, G_N_ELEMENTS(sums));
	uint64_t address = any_address(readers->choices);

	/* What is not there has no sum, and no byte of the answer is left as it was. */
	memset(sums, 0xab, sizeof(sums));
	if (extent_sums_read(readers->sums, address, n, sums, NULL))
		for (size_t i = 0; i < n; i++)
			g_assert_cmpuint(sums[i], !=, UINT64_C(0xabababababababab));
}

static void read_subvolumes(Readers *readers)
{
	g_autoptr(GArray) subvolumes = NULL;
	uint64_t last = 0;
	BtrfsInodeItem inode;
	bool found;

	if (btrfs_inode_read(FD, any_root(readers->choices), any_inode(readers->choices), &inode,
			     &found, NULL) &&
	    found)
		g_assert_true(inode.is_no_cow || true);
	if (!btrfs_subvolumes_read(FD, &subvolumes, NULL))
		return;
	for (guint i = 0; i < subvolumes->len; i++) {
		uint64_t id = g_array_index(subvolumes, BtrfsSubvolume, i).id;

		/* Of a tree there may be more than one item. */
		g_assert_cmpuint(id, >=, last);
		last = id;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const reads[])(Readers *) = { walk,      read_extents, climb,
						    read_refs, read_sums,    read_subvolumes };
	static const uint8_t secret[HASH_STORE_SECRET_BYTES] = { 1, 2, 3 };
	const BtrfsInfo info = {
		.checksum = BTRFS_CHECKSUM_CRC32C,
		.sum_bytes = 4,
		.sector_bytes = HOSTILE_BLOCK_BYTES,
		.node_bytes = 16384,
	};
	Choices choices = choices_begin(data, size);

	hostile_btrfs_make(&choices, HOSTILE_GENERATION);
	g_autoptr(BtrfsTree) tree = btrfs_tree_new(BTRFS_TREE_BUFFER_BYTES_MIN);
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	g_autoptr(BtrfsNames) names = btrfs_names_new(FD);
	g_autoptr(BtrfsRefs) refs = btrfs_refs_new();
	g_autoptr(BtrfsRefBound) bound = btrfs_ref_bound_new(FD);
	g_autoptr(ExtentRefs) places = extent_refs_new(FD, bound);
	g_autoptr(ExtentSums) sums = extent_sums_new(FD, &info, secret);
	Readers readers = { &choices, tree, extents, names, refs, places, sums };

	for (unsigned i = 0; i < STEPS; i++) {
		reads[choices_below(&choices, G_N_ELEMENTS(reads))](&readers);
		/* Of what is valid everything is read in turn. */
		reads[i % G_N_ELEMENTS(reads)](&readers);
	}
	hostile_btrfs_clear();
	return 0;
}
