/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-ref-bound.h"

#include "tests/unit/fake-btrfs.h"

#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>

#define BYTENR     UINT64_C(1048576)
#define SUBVOLUMES 3

typedef struct {
	uint8_t uuid;
	uint8_t parent_uuid; /* 0: none */
} Subvolume;

/* An extent with one reference as the kernel writes it: an extent item with an inline reference. */
typedef struct __attribute__((packed)) {
	struct btrfs_extent_item item;
	uint8_t type;
	struct btrfs_extent_data_ref ref;
} OneRef;

/* The upper bound of references to an extent of the first subvolume. */
static uint64_t bound_with(const Subvolume *subvolumes, size_t n)
{
	struct btrfs_root_item roots[SUBVOLUMES] = { 0 };
	const OneRef extent = {
		.item = { .refs = GUINT64_TO_LE(UINT64_C(1)),
			  .generation = GUINT64_TO_LE(UINT64_C(7)),
			  .flags = GUINT64_TO_LE(BTRFS_EXTENT_FLAG_DATA) },
		.type = BTRFS_EXTENT_DATA_REF_KEY,
		.ref = { .root = GUINT64_TO_LE(UINT64_C(256)),
			 .objectid = GUINT64_TO_LE(UINT64_C(300)),
			 .count = GUINT32_TO_LE(1u) },
	};
	FakeItem items[SUBVOLUMES + 1];
	g_autoptr(BtrfsRefBound) bound = btrfs_ref_bound_new(FAKE_BTRFS_FD);
	g_autoptr(GError) error = NULL;
	uint64_t most;
	bool allowed;

	for (size_t i = 0; i < n; i++) {
		roots[i].generation = roots[i].generation_v2 = GUINT64_TO_LE(UINT64_C(9));
		roots[i].refs = GUINT32_TO_LE(1u);
		roots[i].uuid[0] = subvolumes[i].uuid;
		roots[i].parent_uuid[0] = subvolumes[i].parent_uuid;
		items[i] = (FakeItem){ BTRFS_ROOT_TREE_OBJECTID,
				       { 256 + i, BTRFS_ROOT_ITEM_KEY, 0 },
				       &roots[i],
				       sizeof(roots[i]),
				       1 };
	}
	items[n] = (FakeItem){ BTRFS_EXTENT_TREE_OBJECTID,
			       { BYTENR, BTRFS_EXTENT_ITEM_KEY, 4096 },
			       &extent,
			       sizeof(extent),
			       1 };
	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = n + 1 };

	g_assert_true(btrfs_ref_bound_allows(bound, BYTENR, &allowed, &most, &error));
	g_assert_no_error(error);
	g_assert_true(allowed);
	return most;
}

static void test_a_subvolume_alone_has_one_reference(void)
{
	static const Subvolume subvolumes[] = { { 1, 0 }, { 2, 0 }, { 3, 0 } };

	g_assert_cmpuint(bound_with(subvolumes, G_N_ELEMENTS(subvolumes)), ==, 1);
}

static void test_snapshots_of_snapshots_are_one_family(void)
{
	static const Subvolume subvolumes[] = { { 1, 0 }, { 2, 1 }, { 3, 2 } };

	g_assert_cmpuint(bound_with(subvolumes, G_N_ELEMENTS(subvolumes)), ==, 3);
}

static void test_snapshots_of_deleted_ones_may_belong_to_any_family(void)
{
	static const Subvolume subvolumes[] = { { 1, 0 }, { 2, 8 }, { 3, 9 } };

	g_assert_cmpuint(bound_with(subvolumes, G_N_ELEMENTS(subvolumes)), ==, 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add_func("/btrfs-lost-subvolumes/" name, test)
	ADD("a-subvolume-alone-has-one-reference", test_a_subvolume_alone_has_one_reference);
	ADD("snapshots-of-snapshots-are-one-family", test_snapshots_of_snapshots_are_one_family);
	ADD("snapshots-of-deleted-ones-may-belong-to-any-family",
	    test_snapshots_of_deleted_ones_may_belong_to_any_family);

	return g_test_run();
}
