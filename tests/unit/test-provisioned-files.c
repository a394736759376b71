/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/provisioned-files.h"

#include "tests/unit/failing-store.h"
#include "tests/unit/fake-btrfs.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>
#include <string.h>

#define ROOT  UINT64_C(256)
#define FIRST UINT64_C(300) /* the inode of the first file */
#define KIB   UINT64_C(1024)
#define GIB   (KIB * KIB * KIB)

/* Results that are remembered. */
#define REMEMBERED 4096

#define PIECES_MAX 4
#define NAMES_MAX  2
#define ITEMS_MAX  (16 * (PIECES_MAX + NAMES_MAX))

typedef enum { DATA = 1, HOLE, UNWRITTEN } Kind;

typedef struct {
	Kind kind; /* 0: no piece */
	uint64_t logical;
	uint64_t length;
} Piece;

typedef struct {
	uint64_t size_bytes;
	const char *names[NAMES_MAX];
	Piece pieces[PIECES_MAX];
	bool is_provisioned;
} Case;

/* A kernel that knows the files of the cases, and a pass over it. */
typedef struct {
	PassFixture *fixture;
	ProvisionedFiles *files;
	FakeItem items[ITEMS_MAX];
	struct btrfs_file_extent_item extents[ITEMS_MAX];
	uint8_t names[ITEMS_MAX][64];
	size_t n_items;
} Scene;

static const Case cases[] = {
	{ 64 * KIB, { "disk.img" }, { { DATA, 0, 64 * KIB } }, true },
	{ 64 * KIB, { "disk" }, { { DATA, 0, 64 * KIB } }, false },
	{ 62 * KIB, { "disk.img" }, { { DATA, 0, 64 * KIB } }, true },
	{ 64 * KIB, { "disk.img" }, { { DATA, 0, 32 * KIB }, { DATA, 32 * KIB, 32 * KIB } }, true },
	/* A hole before, amid, and behind the data; without an item, and with one. */
	{ 64 * KIB, { "disk.img" }, { { DATA, 4 * KIB, 60 * KIB } }, false },
	{ 64 * KIB, { "disk.img" }, { { DATA, 0, 8 * KIB }, { DATA, 12 * KIB, 52 * KIB } }, false },
	{ 64 * KIB, { "disk.img" }, { { DATA, 0, 60 * KIB } }, false },
	{ 64 * KIB, { "disk.img" }, { { HOLE, 0, 4 * KIB }, { DATA, 4 * KIB, 60 * KIB } }, false },
	{ 64 * KIB, { "disk.img" }, { { 0 } }, false },
	/* An unwritten extent is enough, wherever it lies. */
	{ 64 * KIB,
	  { "disk" },
	  { { DATA, 4 * KIB, 4 * KIB }, { UNWRITTEN, 60 * KIB, 4 * KIB } },
	  true },
	{ 64 * KIB, { NULL }, { { UNWRITTEN, 0, 4 * KIB }, { HOLE, 4 * KIB, 60 * KIB } }, true },
	/* A large file needs no name. */
	{ GIB, { NULL }, { { DATA, 0, GIB } }, true },
	{ GIB - 1, { NULL }, { { DATA, 0, GIB } }, false },
	/* Any of its names is enough. */
	{ 64 * KIB, { "disk.img", "other" }, { { DATA, 0, 64 * KIB } }, true },
	{ 64 * KIB, { "other", "disk.QCOW2" }, { { DATA, 0, 64 * KIB } }, true },
	{ 64 * KIB, { "disk.img.gz", "img" }, { { DATA, 0, 64 * KIB } }, false },
};

G_STATIC_ASSERT(G_N_ELEMENTS(cases) * (PIECES_MAX + NAMES_MAX) <= ITEMS_MAX);

static void add_item(Scene *scene, uint64_t inode, uint8_t type, uint64_t offset, const void *data,
		     size_t bytes)
{
	scene->items[scene->n_items++] =
		(FakeItem){ ROOT, { inode, type, offset }, data, (uint32_t)bytes, 1 };
}

static void add_name(Scene *scene, uint64_t inode, uint64_t directory, const char *name)
{
	uint8_t *ref = scene->names[scene->n_items];

	/* Behind the index and the length. */
	ref[8] = (uint8_t)strlen(name);
	memcpy(ref + 10, name, strlen(name));
	add_item(scene, inode, BTRFS_INODE_REF_KEY, directory, ref, 10 + strlen(name));
}

static void add_piece(Scene *scene, uint64_t inode, const Piece *piece)
{
	struct btrfs_file_extent_item *extent = &scene->extents[scene->n_items];

	*extent = (struct btrfs_file_extent_item){
		.ram_bytes = GUINT64_TO_LE(piece->length),
		.num_bytes = GUINT64_TO_LE(piece->length),
		.type = piece->kind == UNWRITTEN ? BTRFS_FILE_EXTENT_PREALLOC
						 : BTRFS_FILE_EXTENT_REG,
	};
	if (piece->kind != HOLE) {
		extent->disk_bytenr = GUINT64_TO_LE((inode + 1) * GIB);
		extent->disk_num_bytes = extent->num_bytes;
	}
	add_item(scene, inode, BTRFS_EXTENT_DATA_KEY, piece->logical, extent, sizeof(*extent));
}

static void set_up(Scene *scene, const void *data)
{
	scene->fixture = pass_fixture_new();
	scene->fixture->filesystem.fd = FAKE_BTRFS_FD;
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		for (size_t j = 0; j < NAMES_MAX && cases[i].names[j]; j++)
			add_name(scene, FIRST + i, 256 + j, cases[i].names[j]);
		for (size_t j = 0; j < PIECES_MAX && cases[i].pieces[j].kind; j++)
			add_piece(scene, FIRST + i, &cases[i].pieces[j]);
	}
	*fake_btrfs() = (FakeBtrfs){ .items = scene->items, .n_items = scene->n_items };
	scene->files = provisioned_files_new(&scene->fixture->pass);
}

static void tear_down(Scene *scene, const void *data)
{
	provisioned_files_free(scene->files);
	pass_fixture_free(scene->fixture);
}

static bool is_provisioned(Scene *scene, uint64_t inode, uint64_t size_bytes)
{
	const ExtentRef place = { .root = ROOT, .inode = inode, .size_bytes = size_bytes };
	g_autoptr(GError) error = NULL;
	bool ret;

	g_assert_true(provisioned_files_has(scene->files, &place, &ret, &error));
	g_assert_no_error(error);
	return ret;
}

static void test_extents_and_names_decide(Scene *scene, const void *data)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("case %zu", i);
		g_assert_cmpint(is_provisioned(scene, FIRST + i, cases[i].size_bytes), ==,
				cases[i].is_provisioned);
	}
}

/* An answer costs no search as long as it is remembered: also after as many others as are. */
static void test_the_latest_results_are_remembered(Scene *scene, const void *data)
{
	unsigned n_calls;

	g_assert_true(is_provisioned(scene, FIRST, 64 * KIB));
	for (uint64_t i = 1; i < REMEMBERED; i++)
		is_provisioned(scene, 10000 + i, KIB);
	n_calls = fake_btrfs()->n_calls;
	g_assert_true(is_provisioned(scene, FIRST, 64 * KIB));
	g_assert_false(is_provisioned(scene, 10001, KIB));
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, n_calls);

	/* With one more, all are forgotten. */
	is_provisioned(scene, 10000, KIB);
	n_calls = fake_btrfs()->n_calls;
	is_provisioned(scene, 10000, KIB);
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, n_calls);
	g_assert_true(is_provisioned(scene, FIRST, 64 * KIB));
	g_assert_cmpuint(fake_btrfs()->n_calls, >, n_calls);
}

/* What a pass that stops did not see might be a reason; the next one has to look again. */
static void test_a_stop_keeps_the_zeros_and_is_not_remembered(Scene *scene, const void *data)
{
	atomic_store(&scene->fixture->stop, true);
	g_assert_true(is_provisioned(scene, FIRST + 1, 64 * KIB));
	atomic_store(&scene->fixture->stop, false);
	g_assert_false(is_provisioned(scene, FIRST + 1, 64 * KIB));
}

static void test_the_zeros_of_a_deleted_subvolume_are_kept(Scene *scene, const void *data)
{
	const ExtentRef place = { .root = ROOT, .inode = FIRST + 1, .size_bytes = 64 * KIB };
	g_autoptr(GError) error = NULL;
	bool ret;

	fake_btrfs()->error = ENOENT;
	g_assert_true(is_provisioned(scene, FIRST + 1, 64 * KIB));
	fake_btrfs()->error = EIO;
	g_assert_false(provisioned_files_has(
		scene->files, &(ExtentRef){ .root = ROOT, .inode = FIRST + 2, .size_bytes = KIB },
		&ret, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
	/* The first one is known by now. */
	g_assert_true(provisioned_files_has(scene->files, &place, &ret, NULL));
	g_assert_true(ret);
}

static bool ask_again(void *data, GError **error)
{
	const ExtentRef place = { .root = ROOT, .inode = FIRST + 2, .size_bytes = KIB };
	Scene *scene = data;
	bool is_provisioned;

	return provisioned_files_has(scene->files, &place, &is_provisioned, error);
}

static void test_errors_are_passed_on(Scene *scene, const void *data)
{
	failing_store_try(scene->fixture->pass.store, ask_again, scene);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/provisioned-files/" name, Scene, NULL, set_up, test, tear_down)
	ADD("extents-and-names-decide", test_extents_and_names_decide);
	ADD("the-latest-results-are-remembered", test_the_latest_results_are_remembered);
	ADD("a-stop-keeps-the-zeros-and-is-not-remembered",
	    test_a_stop_keeps_the_zeros_and_is_not_remembered);
	ADD("the-zeros-of-a-deleted-subvolume-are-kept",
	    test_the_zeros_of_a_deleted_subvolume_are_kept);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
