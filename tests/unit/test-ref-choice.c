/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/refs/ref-choice.h"

#include "common/config/place-cost.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/fake-files.h"
#include "tests/unit/pass-fixture.h"

#define WRITABLE UINT64_C(256)
#define OTHER    UINT64_C(257)
#define SNAPSHOT UINT64_C(258)
#define INODE    UINT64_C(300)
#define ADDRESS  (UINT64_C(1) << 30)
#define BYTES    (UINT64_C(1) << 20)

static const BtrfsRef refs[] = {
	{ INODE, 0, WRITABLE },
	{ INODE, 0, OTHER },
	{ INODE, 0, SNAPSHOT },
};

/* An extent that a file of two writable subvolumes and of a read-only one has. */
typedef struct {
	PassFixture *fixture;
	FakeFiles *files;
	ReadOnlySubvolumes *subvolumes;
	ExtentRefs *refs;
	RefChoice *choice;
	struct btrfs_file_extent_item *of_other;
} Scene;

static struct btrfs_file_extent_item *add_subvolume(Scene *scene, uint64_t id, bool is_read_only)
{
	const FakeReference reference = {
		.root = id,
		.inode = INODE,
		.bytenr = ADDRESS,
		.disk_bytes = BYTES,
		.ram_bytes = BYTES,
		.length = BYTES,
	};

	fake_files_add_subvolume(scene->files, id, is_read_only);
	fake_files_add_inode(scene->files, id, INODE, BYTES, 0, 1);
	return fake_files_add_reference(scene->files, &reference);
}

static void set_up(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;
	Pass *pass;

	scene->fixture = pass_fixture_new();
	scene->fixture->filesystem.fd = FAKE_BTRFS_FD;
	scene->fixture->settings.read_only_snapshots = SNAPSHOTS_WRITABLE;
	scene->files = fake_files_new();
	add_subvolume(scene, WRITABLE, false);
	scene->of_other = add_subvolume(scene, OTHER, false);
	add_subvolume(scene, SNAPSHOT, true);
	fake_files_use(scene->files);
	fake_btrfs()->refs = refs;
	fake_btrfs()->n_refs = G_N_ELEMENTS(refs);

	scene->subvolumes = read_only_subvolumes_new(SNAPSHOTS_WRITABLE);
	g_assert_true(read_only_subvolumes_read(scene->subvolumes, FAKE_BTRFS_FD, &error));
	pass = &scene->fixture->pass;
	pass->subvolumes = scene->subvolumes;
	pass->btrfs.ref_bound = btrfs_ref_bound_new(FAKE_BTRFS_FD);
	pass->account.factor = PLACE_COST_FACTOR;
	scene->refs = extent_refs_new(FAKE_BTRFS_FD, pass->btrfs.ref_bound);
	scene->choice = ref_choice_new(pass, scene->refs);
}

static void tear_down(Scene *scene, const void *data)
{
	ref_choice_free(scene->choice);
	extent_refs_free(scene->refs);
	btrfs_ref_bound_free(scene->fixture->pass.btrfs.ref_bound);
	read_only_subvolumes_free(scene->subvolumes);
	fake_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

static const Object extent = { .inode = ADDRESS, .size_bytes = BYTES };

static void test_the_writable_references_are_chosen_and_the_others_hold_it(Scene *scene,
									   const void *data)
{
	g_autoptr(GError) error = NULL;
	ExtentRefsOutcome outcome;
	const ExtentRef *chosen;
	const GArray *holders;
	size_t n;

	g_assert_true(ref_choice_make(scene->choice, &extent, false, &outcome, &error));
	g_assert_no_error(error);
	g_assert_cmpint(outcome, ==, EXTENT_REFS_READ);
	chosen = extent_refs_list(scene->refs, &n);
	g_assert_cmpuint(n, ==, 2);
	g_assert_cmpuint(chosen[0].root, ==, WRITABLE);
	g_assert_cmpuint(chosen[1].root, ==, OTHER);
	holders = ref_choice_holders(scene->choice);
	g_assert_cmpuint(holders->len, ==, 1);
	g_assert_cmpuint(g_array_index(holders, uint64_t, 0), ==, SNAPSHOT);
}

/* Only the first reference was looked up before the writable ones were chosen. */
static void test_a_further_writable_reference_that_cannot_be_read_is_an_error(Scene *scene,
									      const void *data)
{
	g_autoptr(GError) error = NULL;
	ExtentRefsOutcome outcome;

	scene->of_other->type = UINT8_MAX;
	g_assert_false(ref_choice_make(scene->choice, &extent, false, &outcome, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
}

static bool choose_again(void *data, GError **error)
{
	Scene *scene = data;
	ExtentRefsOutcome outcome;

	return ref_choice_make(scene->choice, &extent, false, &outcome, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	failing_store_try(scene->fixture->pass.store, choose_again, scene);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/ref-choice/" name, Scene, NULL, set_up, test, tear_down)
	ADD("the-writable-references-are-chosen-and-the-others-hold-it",
	    test_the_writable_references_are_chosen_and_the_others_hold_it);
	ADD("a-further-writable-reference-that-cannot-be-read-is-an-error",
	    test_a_further_writable_reference_that_cannot_be_read_is_an_error);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
