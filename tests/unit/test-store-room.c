/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/store-room.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>
#include <sys/statvfs.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

/* What an object takes that is recorded by its digest alone. */
#define OBJECT_BYTES 150

#define DIRECTORY "/state"

/* The filesystem of the directory; a size of 0: it cannot be told, and is no limit. */
static struct {
	uint64_t size_bytes;
	uint64_t free_bytes;
} disk;

typedef struct {
	PassFixture *pass;
	StoreRoom *room;
	uint64_t content_bytes; /* of the store, in which nothing is recorded meanwhile */
} Fixture;

int statvfs(const char *path, struct statvfs *ret)
{
	g_assert_cmpstr(path, ==, DIRECTORY);
	if (disk.size_bytes == 0) {
		errno = EIO;
		return -1;
	}

	*ret = (struct statvfs){ .f_frsize = 1,
				 .f_blocks = disk.size_bytes,
				 .f_bavail = disk.free_bytes };
	return 0;
}

static void set_up(Fixture *fixture, const void *data)
{
	disk.size_bytes = disk.free_bytes = 0;
	fixture->pass = pass_fixture_new();
	pass_fixture_settle(fixture->pass);
	fixture->content_bytes = hash_store_content_bytes(fixture->pass->pass.store);
}

static void tear_down(Fixture *fixture, const void *data)
{
	store_room_free(fixture->room);
	pass_fixture_free(fixture->pass);
}

/* There is room for @bytes more by StoreLimit=. */
static void make_room(Fixture *fixture, uint64_t bytes)
{
	store_room_free(fixture->room);
	fixture->room = store_room_new(fixture->pass->pass.store, DIRECTORY,
				       fixture->content_bytes + bytes);
}

/* Returns what was taken; 0: it did not fit, because of the limit. */
static uint64_t take(Fixture *fixture, uint64_t data_bytes, bool has_anchors)
{
	SkipReason limit = disk.size_bytes > 0 ? SKIP_STATE_SPACE : SKIP_STORE_LIMIT;
	SkipReason reason = SKIP_REASONS;
	uint64_t taken = UINT64_MAX;
	bool fits = store_room_take(fixture->room, data_bytes, has_anchors, &taken, &reason);

	g_assert_cmpint(reason, ==, fits ? SKIP_REASONS : limit);
	g_assert_cmpint(fits, ==, taken > 0);
	return taken;
}

static void test_the_limit_grows_with_the_filesystem(void)
{
	g_assert_cmpuint(store_room_default_bytes(0), ==, 64 * MIB);
	g_assert_cmpuint(store_room_default_bytes(31), ==, 64 * MIB);
	g_assert_cmpuint(store_room_default_bytes(32), ==, 64 * MIB + 1);
	g_assert_cmpuint(store_room_default_bytes(32 * GIB), ==, 64 * MIB + GIB);
}

static void test_as_much_is_taken_as_there_is_room(Fixture *fixture, const void *data)
{
	make_room(fixture, 6 * OBJECT_BYTES);
	for (int i = 0; i < 6; i++)
		g_assert_cmpuint(take(fixture, GIB, false), ==, OBJECT_BYTES);
	g_assert_false(store_room_was_short(fixture->room));
	g_assert_cmpuint(take(fixture, 0, false), ==, 0);
	g_assert_true(store_room_was_short(fixture->room));

	make_room(fixture, 6 * OBJECT_BYTES - 1);
	for (int i = 0; i < 5; i++)
		g_assert_cmpuint(take(fixture, GIB, false), ==, OBJECT_BYTES);
	g_assert_cmpuint(take(fixture, GIB, false), ==, 0);
}

/* What is given back is in the store by then, or was not recorded at all, as here. */
static void test_what_was_given_back_is_free_again(Fixture *fixture, const void *data)
{
	make_room(fixture, 3 * OBJECT_BYTES);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			g_assert_cmpuint(take(fixture, 0, false), ==, OBJECT_BYTES);
		store_room_give_back(fixture->room, 3 * OBJECT_BYTES);
	}
	for (int i = 0; i < 3; i++)
		g_assert_cmpuint(take(fixture, 0, false), ==, OBJECT_BYTES);
	store_room_give_back(fixture->room, OBJECT_BYTES);
	g_assert_cmpuint(take(fixture, 0, false), ==, OBJECT_BYTES);
	/* Nothing is left.  That is known, until something is given back. */
	for (int i = 0; i < 3; i++)
		g_assert_cmpuint(take(fixture, 0, false), ==, 0);
	store_room_give_back(fixture->room, OBJECT_BYTES);
	g_assert_cmpuint(take(fixture, 0, false), ==, OBJECT_BYTES);
	g_assert_cmpuint(take(fixture, 0, false), ==, 0);
}

static void test_anchors_take_room_with_their_data(Fixture *fixture, const void *data)
{
	const HashStore *store = fixture->pass->pass.store;

	make_room(fixture, GIB);
	for (uint64_t bytes = 0; bytes <= GIB; bytes = bytes ? 4 * bytes : 4096) {
		uint64_t n_anchors =
			hash_store_expected_anchors(store, bytes / FIXTURE_BLOCK_BYTES) + 1;

		g_assert_cmpuint(take(fixture, bytes, true), ==, OBJECT_BYTES + 10 * n_anchors);
	}
}

/* A file that shares its data fits only into the first half of the store. */
static void test_half_of_the_room_is_left_to_data_that_is_not_shared(Fixture *fixture,
								     const void *data)
{
	uint64_t left_bytes = fixture->content_bytes + 1000 * OBJECT_BYTES;
	/* What the store has counts, too. */
	uint64_t capacity_bytes = fixture->content_bytes + left_bytes;
	unsigned n_fit = 0;

	make_room(fixture, left_bytes);
	while (left_bytes >= OBJECT_BYTES) {
		SkipReason reason = SKIP_REASONS;
		uint64_t taken = take(fixture, 0, false);
		bool fits = store_room_is_for_clones(fixture->room, taken, &reason);

		g_assert_cmpint(fits, ==, left_bytes >= capacity_bytes / 2);
		g_assert_cmpint(reason, ==, fits ? SKIP_REASONS : SKIP_STORE_LIMIT);
		n_fit += fits;
		left_bytes -= taken;
		g_assert_cmpint(store_room_was_short(fixture->room), ==, !fits);
	}
	g_assert_cmpuint(n_fit, >, 0);
	g_assert_cmpuint(n_fit, <=, 501);
}

/* Less than an object remains. */
static uint64_t take_all(Fixture *fixture)
{
	uint64_t bytes = 0;

	for (uint64_t data_bytes = TIB; data_bytes > 0; data_bytes /= 2)
		for (uint64_t taken = 1; taken > 0; bytes += taken)
			taken = take(fixture, data_bytes, true);
	for (uint64_t taken = 1; taken > 0; bytes += taken)
		taken = take(fixture, 0, false);
	return bytes;
}

static void test_a_reserve_of_the_disk_stays_free(Fixture *fixture, const void *data)
{
	const struct {
		uint64_t size_bytes, free_bytes, room_bytes;
	} cases[] = {
		/* A twentieth, at most 1 GiB. */
		{ 100 * MIB, 50 * MIB, 45 * MIB },
		{ 200 * GIB, 9 * GIB, 8 * GIB },
		/* A sixteenth of what is free, if that is more. */
		{ 100 * GIB, 512 * MIB, 32 * MIB },
		{ 2000 * MIB, 104 * MIB, 104 * MIB / 16 },
		{ 2000 * MIB, 110 * MIB, 10 * MIB },
		/* As much as the store holds stays free. */
		{ 2 * GIB, fixture->content_bytes + 1000, 1000 },
		{ 2 * GIB, fixture->content_bytes / 2, 0 },
		{ 2 * GIB, 0, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint64_t taken;

		disk.size_bytes = cases[i].size_bytes;
		disk.free_bytes = cases[i].free_bytes;
		make_room(fixture, TIB);
		taken = take_all(fixture);
		g_assert_cmpuint(taken, <=, cases[i].room_bytes);
		g_assert_cmpuint(taken + OBJECT_BYTES, >, cases[i].room_bytes);
	}
}

/* Others fill the disk meanwhile. */
static void test_the_disk_is_looked_at_every_four_mebibytes(Fixture *fixture, const void *data)
{
	const unsigned n_before_look = 4 * MIB / OBJECT_BYTES;

	disk.size_bytes = 2 * GIB;
	disk.free_bytes = GIB;
	make_room(fixture, TIB);
	g_assert_cmpuint(take(fixture, 0, false), >, 0);
	disk.free_bytes = 0;
	for (unsigned i = 0; i < n_before_look; i++)
		g_assert_cmpuint(take(fixture, 0, false), >, 0);
	g_assert_cmpuint(take(fixture, 0, false), ==, 0);

	/* What was given back counts as well. */
	disk.free_bytes = GIB;
	make_room(fixture, TIB);
	g_assert_cmpuint(take(fixture, 0, false), >, 0);
	disk.free_bytes = 0;
	for (unsigned i = 0; i < n_before_look / 2; i++) {
		store_room_give_back(fixture->room, OBJECT_BYTES);
		g_assert_cmpuint(take(fixture, 0, false), >, 0);
	}
	g_assert_cmpuint(take(fixture, 0, false), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/store-room/the-limit-grows-with-the-filesystem",
			test_the_limit_grows_with_the_filesystem);

#define ADD(name, test) g_test_add("/store-room/" name, Fixture, NULL, set_up, test, tear_down)
	ADD("as-much-is-taken-as-there-is-room", test_as_much_is_taken_as_there_is_room);
	ADD("what-was-given-back-is-free-again", test_what_was_given_back_is_free_again);
	ADD("anchors-take-room-with-their-data", test_anchors_take_room_with_their_data);
	ADD("half-of-the-room-is-left", test_half_of_the_room_is_left_to_data_that_is_not_shared);
	ADD("a-reserve-of-the-disk-stays-free", test_a_reserve_of_the_disk_stays_free);
	ADD("the-disk-is-looked-at-every-four-mebibytes",
	    test_the_disk_is_looked_at_every_four_mebibytes);

	return g_test_run();
}
