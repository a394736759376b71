/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-families.h"

#include "tests/unit/fake-btrfs.h"

#include <linux/btrfs_tree.h>
#include <string.h>

#define ROOTS_MAX 8

typedef struct {
	uint64_t id; /* and the first byte of the UUID, if it has one */
	uint64_t parent;
	uint64_t otransid;
	uint64_t generation;
	bool is_writable;
	bool is_dead;
	bool has_no_uuid;
} Root;

/* The subvolumes that the kernel reports until a change. */
typedef struct {
	FakeItem items[ROOTS_MAX];
	struct btrfs_root_item roots[ROOTS_MAX];
	size_t n;
	BtrfsFamilies *families;
} World;

static World *world_new(const Root *roots, size_t n)
{
	World *world = g_new0(World, 1);
	g_autoptr(GError) error = NULL;

	for (; world->n < n; world->n++) {
		const Root *root = &roots[world->n];
		struct btrfs_root_item *item = &world->roots[world->n];

		item->generation = item->generation_v2 = GUINT64_TO_LE(root->generation);
		item->otransid = GUINT64_TO_LE(root->otransid);
		item->refs = GUINT32_TO_LE(root->is_dead ? 0u : 1u);
		item->flags = GUINT64_TO_LE(root->is_writable ? UINT64_C(0)
							      : (uint64_t)BTRFS_ROOT_SUBVOL_RDONLY);
		if (!root->has_no_uuid)
			memcpy(item->uuid, &root->id, sizeof(root->id));
		memcpy(item->parent_uuid, &root->parent, sizeof(root->parent));
		world->items[world->n] = (FakeItem){
			1, { root->id, BTRFS_ROOT_ITEM_KEY, 0 }, item, sizeof(*item), 1
		};
	}

	*fake_btrfs() = (FakeBtrfs){ .items = world->items, .n_items = world->n };
	world->families = btrfs_families_new(FAKE_BTRFS_FD);
	g_assert_true(btrfs_families_look(world->families, &error));
	g_assert_no_error(error);
	return world;
}

static void world_free(World *world)
{
	btrfs_families_free(world->families);
	g_free(world);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(World, world_free)

static void assert_untouched(const World *world, uint64_t id, const uint64_t *expected, guint n)
{
	const GArray *found = btrfs_families_untouched(world->families, id);

	g_assert_nonnull(found);
	g_assert_cmpuint(found->len, ==, n);
	for (guint i = 0; i < n; i++)
		g_assert_cmpuint(g_array_index(found, BtrfsUntouched, i).id, ==, expected[i]);
	/* The result is cached. */
	g_assert_true(btrfs_families_untouched(world->families, id) == found);
}

static void test_snapshots_that_nobody_wrote_to_are_untouched(void)
{
	static const Root roots[] = {
		{ 256, 0, 7, 90, .is_writable = true },
		{ 257, 256, 10, 10 },
		{ 258, 257, 11, 11 }, /* a snapshot of a snapshot */
		{ 300, 0, 12, 95, .is_writable = true },
		{ 301, 300, 20, 21 }, /* of another family, and written to */
	};
	g_autoptr(World) world = world_new(roots, G_N_ELEMENTS(roots));
	static const uint64_t expected[] = { 257, 258 };

	assert_untouched(world, 256, expected, G_N_ELEMENTS(expected));
	g_assert_null(btrfs_families_untouched(world->families, 300));
	g_assert_null(btrfs_families_untouched(world->families, 999));
	g_assert_cmpuint(btrfs_families_find(world->families, 258)->size, ==, 3);
	g_assert_cmpuint(btrfs_families_find(world->families, 301)->size, ==, 2);
	g_assert_cmpuint(btrfs_families_largest(world->families), ==, 3);
	g_assert_null(btrfs_families_find(world->families, 999));
}

static void test_a_subvolume_without_snapshots_has_none_that_are_touched(void)
{
	static const Root roots[] = { { 256, 0, 7, 90, .is_writable = true } };
	g_autoptr(World) world = world_new(roots, G_N_ELEMENTS(roots));

	assert_untouched(world, 256, NULL, 0);
}

/* btrfs-convert makes a top level without a UUID: snapshots of it do not name it. */
static void test_without_a_uuid_nothing_is_known(void)
{
	static const Root roots[] = {
		{ 5, 0, 0, 90, .is_writable = true, .has_no_uuid = true },
		{ 257, 0, 10, 10 },
	};
	g_autoptr(World) world = world_new(roots, G_N_ELEMENTS(roots));

	g_assert_null(btrfs_families_untouched(world->families, 5));
	g_assert_true(btrfs_families_have_writable_snapshots(world->families));
}

static void test_a_writable_subvolume_may_be_a_snapshot(void)
{
	static const Root roots[] = {
		{ 256, 0, 7, 90, .is_writable = true },
		{ 257, 256, 10, 10 },
		{ 258, 257, 11, 11, .is_writable = true },
	};
	g_autoptr(World) without = world_new(roots, 2);

	g_assert_false(btrfs_families_have_writable_snapshots(without->families));
	g_autoptr(World) with = world_new(roots, 3);

	g_assert_true(btrfs_families_have_writable_snapshots(with->families));
}

static void test_one_touched_member_is_enough(void)
{
	static const Root members[] = {
		{ 258, 256, 11, 12 },                      /* written to, then made read-only */
		{ 258, 256, 11, 11, .is_writable = true }, /* may be written at any time */
		{ 258, 256, 11, 11, .is_dead = true },     /* loses its leaves one by one */
		{ 258, 256, 0, 0 },                        /* its creation is not known */
		{ 258, 99, 11, 11 }, /* its parent was deleted: it may be of any family */
		{ 258, 99, 11, 40, .is_writable = true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
		Root roots[] = {
			{ 256, 0, 7, 90, .is_writable = true },
			{ 257, 256, 10, 10 },
			members[i],
		};
		g_autoptr(World) world = world_new(roots, G_N_ELEMENTS(roots));

		g_assert_null(btrfs_families_untouched(world->families, 256));
	}
}

/* The snapshot has the data of its parent, but not later writes to the other one. */
static void test_a_family_has_one_first(void)
{
	static const Root roots[] = {
		{ 256, 0, 7, 7 },
		{ 257, 256, 10, 90, .is_writable = true },
		{ 258, 257, 11, 11 },
	};
	g_autoptr(World) world = world_new(roots, G_N_ELEMENTS(roots));

	g_assert_null(btrfs_families_untouched(world->families, 257));
	g_assert_null(btrfs_families_untouched(world->families, 256));
}

/* As after a rollback to a snapshot that was then deleted. */
static void test_the_first_one_may_be_lost(void)
{
	static const Root roots[] = {
		{ 256, 99, 7, 90, .is_writable = true },
		{ 257, 256, 10, 10 },
	};
	g_autoptr(World) world = world_new(roots, G_N_ELEMENTS(roots));
	static const uint64_t expected[] = { 257 };

	assert_untouched(world, 256, expected, G_N_ELEMENTS(expected));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/btrfs-families/snapshots-that-nobody-wrote-to-are-untouched",
			test_snapshots_that_nobody_wrote_to_are_untouched);
	g_test_add_func("/btrfs-families/a-subvolume-without-snapshots-has-none-that-are-touched",
			test_a_subvolume_without_snapshots_has_none_that_are_touched);
	g_test_add_func("/btrfs-families/without-a-uuid-nothing-is-known",
			test_without_a_uuid_nothing_is_known);
	g_test_add_func("/btrfs-families/a-writable-subvolume-may-be-a-snapshot",
			test_a_writable_subvolume_may_be_a_snapshot);
	g_test_add_func("/btrfs-families/one-touched-member-is-enough",
			test_one_touched_member_is_enough);
	g_test_add_func("/btrfs-families/a-family-has-one-first", test_a_family_has_one_first);
	g_test_add_func("/btrfs-families/the-first-one-may-be-lost",
			test_the_first_one_may_be_lost);
	return g_test_run();
}
