/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-ref-bound.h"

#include "tests/unit/fake-btrfs.h"

#include <linux/btrfs_tree.h>
#include <string.h>

#define BYTENR     (UINT64_C(16) << 20)
#define DISK_BYTES 65536 /* 16 blocks, but 32 if it may be compressed */
#define FAMILY     1000
#define ORIGINAL   256
#define SNAPSHOT   258
#define STRANGER   5000

/* A subvolume with FAMILY - 1 snapshots, another subvolume, and an extent. */
typedef struct {
	FakeItem items[2 * FAMILY + 8];
	size_t n;
	struct btrfs_root_item roots[FAMILY + 2];
	size_t n_roots;
	struct btrfs_extent_data_ref refs[FAMILY];
	size_t n_refs;
	struct {
		struct btrfs_extent_item item;
		uint8_t type;
		struct btrfs_extent_data_ref ref;
	} __attribute__((packed)) extent;
	BtrfsRefBound *bound;
} World;

static void add_item(World *world, uint64_t tree, BtrfsKey key, const void *data, size_t length)
{
	world->items[world->n++] = (FakeItem){ tree, key, data, (uint32_t)length, 1 };
}

static void add_root(World *world, uint64_t id, uint64_t uuid, uint64_t parent_uuid)
{
	struct btrfs_root_item *root = &world->roots[world->n_roots++];

	root->generation = root->generation_v2 = GUINT64_TO_LE(UINT64_C(1));
	root->refs = GUINT32_TO_LE(1u);
	memcpy(root->uuid, &uuid, sizeof(uuid));
	memcpy(root->parent_uuid, &parent_uuid, sizeof(parent_uuid));
	add_item(world, 1, (BtrfsKey){ id, BTRFS_ROOT_ITEM_KEY, 0 }, root, sizeof(*root));
}

static struct btrfs_extent_data_ref make_ref(uint64_t root, uint64_t offset, uint32_t count)
{
	return (struct btrfs_extent_data_ref){
		.root = GUINT64_TO_LE(root),
		.objectid = GUINT64_TO_LE(UINT64_C(300)),
		.offset = GUINT64_TO_LE(offset),
		.count = GUINT32_TO_LE(count),
	};
}

static World *world_new(void)
{
	World *world = g_new0(World, 1);

	add_root(world, ORIGINAL, ORIGINAL, 0);
	for (uint64_t id = ORIGINAL + 1; id < ORIGINAL + FAMILY; id++)
		/* Odd ones are snapshots of a snapshot. */
		add_root(world, id, id, id % 2 && id > SNAPSHOT ? SNAPSHOT : ORIGINAL);
	add_root(world, STRANGER, STRANGER, 0);
	world->bound = btrfs_ref_bound_new(FAKE_BTRFS_FD);
	return world;
}

static void world_free(World *world)
{
	btrfs_ref_bound_free(world->bound);
	g_free(world);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(World, world_free)

/* Add an extent with @refs references, one of which is in its item. */
static void add_extent(World *world, uint64_t refs, struct btrfs_extent_data_ref one)
{
	world->extent.item.refs = GUINT64_TO_LE(refs);
	world->extent.item.flags = GUINT64_TO_LE((uint64_t)BTRFS_EXTENT_FLAG_DATA);
	world->extent.type = BTRFS_EXTENT_DATA_REF_KEY;
	world->extent.ref = one;
	add_item(world, 2, (BtrfsKey){ BYTENR, BTRFS_EXTENT_ITEM_KEY, DISK_BYTES }, &world->extent,
		 sizeof(world->extent));
}

static void add_ref(World *world, struct btrfs_extent_data_ref ref)
{
	struct btrfs_extent_data_ref *kept = &world->refs[world->n_refs++];

	*kept = ref;
	add_item(world, 2, (BtrfsKey){ BYTENR, BTRFS_EXTENT_DATA_REF_KEY, world->n_refs }, kept,
		 sizeof(*kept));
}

static bool allows(World *world, uint64_t *ret_most)
{
	g_autoptr(GError) error = NULL;
	bool allowed;

	*fake_btrfs() = (FakeBtrfs){ .items = world->items, .n_items = world->n };
	g_assert_true(btrfs_ref_bound_allows(world->bound, BYTENR, &allowed, ret_most, &error));
	g_assert_no_error(error);
	return allowed;
}

static void test_each_snapshot_may_show_what_one_of_them_does(void)
{
	g_autoptr(World) world = world_new();
	uint64_t most;

	add_extent(world, 60, make_ref(ORIGINAL, 0, 60));
	g_assert_true(allows(world, &most));
	g_assert_cmpuint(most, ==, 60 * FAMILY);
}

static void test_other_subvolumes_do_not_count(void)
{
	g_autoptr(World) world = world_new();
	uint64_t most;

	add_extent(world, 50000, make_ref(STRANGER, 0, 50000));
	g_assert_true(allows(world, &most));
	g_assert_cmpuint(most, ==, 50000);
}

static void test_too_many_are_not_allowed(void)
{
	g_autoptr(World) world = world_new();
	uint64_t most;

	add_extent(world, 70000, make_ref(ORIGINAL, 0, 1));
	g_assert_false(allows(world, &most));
	g_assert_cmpuint(most, ==, 70000 * FAMILY);
}

/* As with a leaf per snapshot, which the rough bound would count as a million. */
static void test_what_each_snapshot_refers_to_by_itself_counts_once(void)
{
	g_autoptr(World) world = world_new();
	uint64_t most;

	add_extent(world, FAMILY, make_ref(ORIGINAL, 0, 1));
	for (uint64_t id = ORIGINAL + 1; id < ORIGINAL + FAMILY; id++)
		add_ref(world, make_ref(id, 0, 1));
	g_assert_true(allows(world, &most));
	g_assert_cmpuint(most, ==, 32 * FAMILY);
}

/* An image that was overwritten in places and then shared again in each snapshot: only the pieces count. */
static void test_pieces_in_each_snapshot_count_once(void)
{
	const uint64_t pieces = 65000 / FAMILY;
	g_autoptr(World) world = world_new();
	uint64_t most;

	add_extent(world, pieces * FAMILY, make_ref(ORIGINAL, 0, (uint32_t)pieces));
	for (uint64_t id = ORIGINAL + 1; id < ORIGINAL + FAMILY; id++)
		add_ref(world, make_ref(id, 0, (uint32_t)pieces));
	g_assert_true(allows(world, &most));
	g_assert_cmpuint(most, ==, 32 * FAMILY);
}

static void test_the_reserve_is_charged_for_what_was_found(void)
{
	g_autoptr(World) world = world_new();
	uint64_t most;

	add_extent(world, 1500000, make_ref(STRANGER, 0, 1500000));
	for (int i = 0; i < 1000; i++) {
		g_assert_true(allows(world, &most));
		btrfs_ref_bound_charge(world->bound, BTRFS_REF_BOUND_FREE);
	}
	btrfs_ref_bound_charge(world->bound, BTRFS_REF_BOUND_RESERVE - 1);
	g_assert_true(allows(world, &most));
	btrfs_ref_bound_charge(world->bound, BTRFS_REF_BOUND_FREE + 1);
	g_assert_false(allows(world, &most));
}

static void test_what_is_gone_is_for_the_look_up_to_say(void)
{
	g_autoptr(World) world = world_new();
	uint64_t most;

	g_assert_true(allows(world, &most));
	g_assert_cmpuint(most, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add_func("/btrfs-ref-bound/" name, test)
	ADD("each-snapshot-may-show-what-one-of-them-does",
	    test_each_snapshot_may_show_what_one_of_them_does);
	ADD("other-subvolumes-do-not-count", test_other_subvolumes_do_not_count);
	ADD("too-many-are-not-allowed", test_too_many_are_not_allowed);
	ADD("what-each-snapshot-refers-to-by-itself-counts-once",
	    test_what_each_snapshot_refers_to_by_itself_counts_once);
	ADD("pieces-in-each-snapshot-count-once", test_pieces_in_each_snapshot_count_once);
	ADD("the-reserve-is-charged-for-what-was-found",
	    test_the_reserve_is_charged_for_what_was_found);
	ADD("what-is-gone-is-for-the-look-up-to-say", test_what_is_gone_is_for_the_look_up_to_say);

	return g_test_run();
}
