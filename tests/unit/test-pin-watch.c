/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/pinned/pin-watch.h"

#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#include <linux/btrfs_tree.h>

#define KIB UINT64_C(1024)

#define WRITABLE  UINT64_C(256)
#define READ_ONLY UINT64_C(257)
#define DEAD      UINT64_C(258)
#define GONE      UINT64_C(999)
#define INODE     UINT64_C(300)
#define IMMUTABLE UINT64_C(301)
#define LOST      UINT64_C(302)
#define ADDRESS   UINT64_C(0x40000000)
#define BYTES     (256 * KIB)

/* What each file shows of the extent. */
#define OFFSET   (64 * KIB)
#define POSITION (8 * KIB)
#define LENGTH   (16 * KIB)

#define FLAG_IMMUTABLE (UINT64_C(1) << 6)

typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	PinWatch *watch;
} Scene;

/* Returns the reference. */
static struct btrfs_file_extent_item *add_file(Scene *scene, uint64_t root, uint64_t inode,
					       uint64_t flags)
{
	const FakeReference reference = {
		.root = root,
		.inode = inode,
		.offset = OFFSET,
		.bytenr = ADDRESS,
		.disk_bytes = BYTES,
		.ram_bytes = BYTES,
		.position = POSITION,
		.length = LENGTH,
	};

	if (inode != LOST)
		fake_files_add_inode(scene->files, root, inode, BYTES, flags, 1);
	return fake_files_add_reference(scene->files, &reference);
}

static void add_dead_subvolume(Scene *scene)
{
	const struct btrfs_root_item root = { 0 };

	fake_files_add(scene->files, BTRFS_ROOT_TREE_OBJECTID,
		       (BtrfsKey){ DEAD, BTRFS_ROOT_ITEM_KEY, 0 }, &root, sizeof(root), 1);
}

static void set_up(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;
	Pass *pass;

	scene->fixture = pass_fixture_new();
	scene->files = fake_files_new();
	pass = &scene->fixture->pass;
	pass_fixture_pose_as_btrfs(scene->fixture, FAKE_BTRFS_FD);
	fake_files_add_subvolume(scene->files, WRITABLE, false);
	fake_files_add_subvolume(scene->files, READ_ONLY, true);
	add_dead_subvolume(scene);
	add_file(scene, WRITABLE, INODE, 0);
	add_file(scene, WRITABLE, IMMUTABLE, FLAG_IMMUTABLE);
	add_file(scene, WRITABLE, LOST, 0);
	add_file(scene, READ_ONLY, INODE, 0);
	fake_files_use(scene->files);
	pass->filter = filter_new(NULL, 0);
	pass->subvolumes = read_only_subvolumes_new(SNAPSHOTS_WRITABLE);
	g_assert_true(read_only_subvolumes_read(pass->subvolumes, FAKE_BTRFS_FD, &error));
	scene->watch = pin_watch_new(pass);
}

static void tear_down(Scene *scene, const void *data)
{
	pin_watch_free(scene->watch);
	read_only_subvolumes_free(scene->fixture->pass.subvolumes);
	filter_free(scene->fixture->pass.filter);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

/* Pinned by what the file shows. */
static PinnedExtent pinned_by(uint32_t cause, uint64_t root, uint64_t inode)
{
	return (PinnedExtent){
		.extent.address = ADDRESS,
		.cause = cause,
		.root = root,
		.inode = inode,
		.offset = OFFSET,
		.position = POSITION,
		.length = LENGTH,
	};
}

static bool is_over(Scene *scene, const PinnedExtent *pinned)
{
	g_autoptr(GError) error = NULL;
	bool over;

	g_assert_true(pin_watch_is_over(scene->watch, pinned, &over, &error));
	g_assert_no_error(error);
	return over;
}

static void test_it_stays_while_the_named_reference_does(Scene *scene, const void *data)
{
	const PinnedExtent pinned = pinned_by(PIN_UNCOVERED, WRITABLE, INODE);
	PinnedExtent other = pinned;

	g_assert_false(is_over(scene, &pinned));
	other.extent.address += 4 * KIB;
	g_assert_true(is_over(scene, &other));
	other = pinned;
	other.offset += 4 * KIB;
	g_assert_true(is_over(scene, &other));
	other = pinned;
	other.position += 4 * KIB;
	g_assert_true(is_over(scene, &other));
	other = pinned;
	other.length += 4 * KIB;
	g_assert_true(is_over(scene, &other));
	other = pinned;
	other.inode = 4711;
	g_assert_true(is_over(scene, &other));
	/* It was preallocated then, and has data now. */
	other = pinned;
	other.cause = PIN_RESERVED;
	g_assert_true(is_over(scene, &other));
}

static void test_preallocated_space_stays_reserved(Scene *scene, const void *data)
{
	const PinnedExtent pinned = pinned_by(PIN_RESERVED, WRITABLE, INODE + 10);
	PinnedExtent written = pinned;

	add_file(scene, WRITABLE, INODE + 10, 0)->type = BTRFS_FILE_EXTENT_PREALLOC;
	fake_files_use(scene->files);
	g_assert_false(is_over(scene, &pinned));
	written.cause = PIN_UNCOVERED;
	g_assert_true(is_over(scene, &written));
}

static void test_a_subvolume_that_is_gone_holds_nothing(Scene *scene, const void *data)
{
	for (uint32_t cause = PIN_NONE + 1; cause < PIN_CAUSES; cause++) {
		const PinnedExtent pinned = pinned_by(cause, GONE, INODE);

		if (!pin_watch_counts_places(cause))
			g_assert_true(is_over(scene, &pinned));
	}
}

/* The files of one that btrfs still deletes cannot be looked at. */
static void test_a_deleted_subvolume_holds_it_until_it_is_gone(Scene *scene, const void *data)
{
	const PinnedExtent pinned = pinned_by(PIN_DELETED_SUBVOLUME, DEAD, INODE);
	const PinnedExtent alive = pinned_by(PIN_DELETED_SUBVOLUME, WRITABLE, INODE);
	const PinnedExtent before = pinned_by(PIN_UNCOVERED, DEAD, INODE);

	g_assert_false(is_over(scene, &pinned));
	g_assert_false(is_over(scene, &alive));
	/* It was not deleted yet.  The next plan finds out what holds the extent now. */
	g_assert_true(is_over(scene, &before));
}

static void test_what_may_be_shared_by_now_no_longer_pins(Scene *scene, const void *data)
{
	static const struct {
		PinCause cause;
		uint64_t root, inode;
		bool is_over;
	} cases[] = {
		{ PIN_READ_ONLY_SNAPSHOT, READ_ONLY, INODE, false },
		{ PIN_READ_ONLY_SNAPSHOT, WRITABLE, INODE, true },
		{ PIN_IMMUTABLE, WRITABLE, IMMUTABLE, false },
		{ PIN_IMMUTABLE, WRITABLE, INODE, true },
		{ PIN_IMMUTABLE, WRITABLE, LOST, true },
		{ PIN_IMMUTABLE, READ_ONLY, INODE, false },
		{ PIN_UNCOVERED, READ_ONLY, INODE, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const PinnedExtent pinned =
			pinned_by(cases[i].cause, cases[i].root, cases[i].inode);

		g_test_message("case %zu", i);
		g_assert_cmpint(is_over(scene, &pinned), ==, cases[i].is_over);
	}
}

static void test_a_cost_is_over_when_there_are_fewer_references(Scene *scene, const void *data)
{
	static const BtrfsRef refs[] = { { INODE, OFFSET, WRITABLE },
					 { IMMUTABLE, OFFSET, WRITABLE },
					 { INODE, OFFSET, READ_ONLY } };
	static const struct {
		PinCause cause;
		uint64_t places, affordable;
		size_t n_refs;
		bool is_over;
	} cases[] = {
		{ PIN_TOO_COSTLY, 9, 2, 3, false }, { PIN_TOO_COSTLY, 9, 3, 3, true },
		{ PIN_TOO_COSTLY, 9, 1, 0, true },  { PIN_METADATA, 3, 0, 3, false },
		{ PIN_METADATA, 4, 0, 3, true },    { PIN_COPY_SPACE, 2, 0, 2, false },
		{ PIN_COPY_SPACE, 3, 0, 2, true },  { PIN_COPY_SPACE, 0, 0, 1, false },
	};

	fake_btrfs()->refs = refs;
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		PinnedExtent pinned = { .extent.address = ADDRESS,
					.cause = cases[i].cause,
					.places = cases[i].places };

		if (cases[i].cause == PIN_TOO_COSTLY)
			pinned.affordable_places = cases[i].affordable;
		fake_btrfs()->n_refs = cases[i].n_refs;
		g_test_message("case %zu", i);
		g_assert_cmpint(is_over(scene, &pinned), ==, cases[i].is_over);
	}
}

static void test_a_row_has_the_reference_or_the_number_of_them(void)
{
	const Object extent = { .inode = ADDRESS, .size_bytes = BYTES, .ctime_nsec = 77 };
	const ExtentPin by_place = {
		.cause = PIN_UNCOVERED,
		.place = { .root = WRITABLE,
			   .inode = INODE,
			   .offset = OFFSET,
			   .position = POSITION,
			   .length = LENGTH },
		.uncovered_bytes = 4 * KIB,
		.places = 5,
	};
	ExtentPin by_cost = by_place;
	PinnedExtent row = pin_watch_row(&extent, &by_place);

	g_assert_cmpuint(row.extent.address, ==, ADDRESS);
	g_assert_cmpuint(row.extent.generation, ==, 77);
	g_assert_cmpuint(row.cause, ==, PIN_UNCOVERED);
	g_assert_cmpuint(row.root, ==, WRITABLE);
	g_assert_cmpuint(row.inode, ==, INODE);
	g_assert_cmpuint(row.offset, ==, OFFSET);
	g_assert_cmpuint(row.position, ==, POSITION);
	g_assert_cmpuint(row.length, ==, LENGTH);
	g_assert_cmpuint(row.uncovered_bytes, ==, 4 * KIB);
	g_assert_cmpuint(row.places, ==, 5);
	g_assert_cmpuint(row.bytes, ==, BYTES);

	by_cost.cause = PIN_TOO_COSTLY;
	by_cost.affordable_places = 3;
	row = pin_watch_row(&extent, &by_cost);
	g_assert_cmpuint(row.root, ==, 0);
	g_assert_cmpuint(row.affordable_places, ==, 3);
	by_cost.cause = PIN_METADATA;
	g_assert_cmpuint(pin_watch_row(&extent, &by_cost).root, ==, 0);
	by_cost.cause = PIN_COPY_SPACE;
	g_assert_cmpuint(pin_watch_row(&extent, &by_cost).root, ==, 0);
}

typedef struct {
	Pass *pass;
	PinnedExtent pinned;
} Watching;

/* Nothing is remembered. */
static bool look_again(void *data, GError **error)
{
	const Watching *watching = data;
	g_autoptr(PinWatch) watch = pin_watch_new(watching->pass);
	bool over;

	return pin_watch_is_over(watch, &watching->pinned, &over, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	Pass *pass = &scene->fixture->pass;
	Watching by_file = { pass, pinned_by(PIN_IMMUTABLE, WRITABLE, IMMUTABLE) };
	Watching by_cost = { pass,
			     { .extent.address = ADDRESS, .cause = PIN_METADATA, .places = 3 } };

	failing_store_try(pass->store, look_again, &by_file);
	failing_store_try(pass->store, look_again, &by_cost);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/pin-watch/" name, Scene, NULL, set_up, test, tear_down)
	ADD("it-stays-while-the-named-reference-does",
	    test_it_stays_while_the_named_reference_does);
	ADD("preallocated-space-stays-reserved", test_preallocated_space_stays_reserved);
	ADD("a-subvolume-that-is-gone-holds-nothing", test_a_subvolume_that_is_gone_holds_nothing);
	ADD("a-deleted-subvolume-holds-it-until-it-is-gone",
	    test_a_deleted_subvolume_holds_it_until_it_is_gone);
	ADD("what-may-be-shared-by-now-no-longer-pins",
	    test_what_may_be_shared_by_now_no_longer_pins);
	ADD("a-cost-is-over-when-there-are-fewer-references",
	    test_a_cost_is_over_when_there_are_fewer_references);
	g_test_add_func("/pin-watch/a-row-has-the-reference-or-the-number-of-them",
			test_a_row_has_the_reference_or_the_number_of_them);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
