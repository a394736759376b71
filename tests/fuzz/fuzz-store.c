/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/export/export-writer.h"
#include "common/content/winnow.h"
#include "common/files/skip.h"
#include "daemon/fingerprint/file-job.h"
#include "hashstore/anchors/groups.h"
#include "hashstore/objects/differed.h"
#include "hashstore/objects/equal-groups.h"
#include "hashstore/objects/equals.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/names.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/open-extents.h"
#include "hashstore/objects/pinned.h"
#include "hashstore/store-check.h"
#include "hashstore/store-size.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hostile-store.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than the store has of anything. */
#define ROWS_MAX 100000

#define IDS_MAX 16

const char *const fuzz_seeds[] = { NULL };

/* What the store's file has when it is valid, by kind. */
typedef struct {
	char *bytes;
	gsize size;
} Image;

static const char *const kinds[] = { "btrfs", "XFS" };

static void make_image(const char *kind, Image *ret)
{
	g_autoptr(Scratch) scratch = scratch_new();
	const HashStoreOptions options = hostile_store_options(scratch->path, kind);
	g_autofree char *path = scratch_path(scratch, HOSTILE_STORE_UUID ".sqlite");
	g_autoptr(GError) error = NULL;
	HashStore *store = hash_store_open(&options, &error);

	g_assert_no_error(error);
	hostile_store_fill(store);
	hash_store_close(store);
	g_file_get_contents(path, &ret->bytes, &ret->size, &error);
	g_assert_no_error(error);
}

static const Image *valid_image(size_t kind)
{
	static Image images[G_N_ELEMENTS(kinds)];

	if (!images[kind].bytes)
		make_image(kinds[kind], &images[kind]);
	return &images[kind];
}

/* An error says which store it is about. */
static void check_error(GError *error)
{
	if (!error)
		return;
	if (!strstr(error->message, HOSTILE_STORE_UUID))
		g_error("\"%s\" does not name the store", error->message);
	g_assert_true(g_utf8_validate(error->message, -1, NULL));
	g_error_free(error);
}

static bool all_live(uint32_t object, void *data)
{
	return true;
}

static void walk_objects(HashStore *store)
{
	GError *error = NULL;
	g_autoptr(ObjectCursor) cursor = object_cursor_open(store, &error);
	g_autoptr(Equals) equals = equals_open(store, NULL);
	unsigned n = 0;
	const Object *object;
	Object last = { 0 };

	while (cursor && object_cursor_next(cursor, &object, &error) && object) {
		const GArray *same;
		bool has_more;

		g_assert_cmpuint(object->state, <=, OBJECT_SEEN);
		g_assert_true(n == 0 || object->subvolume > last.subvolume ||
			      (object->subvolume == last.subvolume && object->inode > last.inode));
		g_assert_cmpuint(n++, <, ROWS_MAX);
		last = *object;
		if (equals && object->state == OBJECT_DONE &&
		    equals_find(equals, object, 8, &same, &has_more, NULL))
			g_assert_cmpuint(same->len, <=, 8);
	}
	check_error(error);
}

static void walk_groups(HashStore *store)
{
	GError *error = NULL;
	g_autoptr(Groups) groups = groups_open(store, all_live, NULL, &error);
	uint64_t last = 0;
	const Group *group;
	unsigned n = 0;

	while (groups && groups_next(groups, &group, &error) && group) {
		uint64_t digest = group->members[0].digest;

		g_assert_cmpuint(n++, <, ROWS_MAX);
		g_assert_true(n == 1 || digest >= last);
		g_assert_cmpuint(group->n_members, <=, GROUP_MEMBERS_MAX);
		g_assert_true(group->n_members >= 2 || digest == ANCHOR_ZEROS_DIGEST);
		for (size_t i = 0; i < group->n_members; i++)
			g_assert_cmpuint(group->members[i].digest, ==, digest);
		last = digest;
	}
	check_error(error);
}

static void walk_equal_groups(HashStore *store, EqualKind kind)
{
	GError *error = NULL;
	g_autoptr(EqualGroups) groups = equal_groups_open(store, kind, 0, 1 << 20, &error);
	const EqualGroup *group;
	unsigned n = 0;

	while (groups && equal_groups_next(groups, &group, &error) && group) {
		g_assert_cmpuint(n++, <, ROWS_MAX);
		g_assert_cmpuint(group->n_ids, <=, group->n_objects);
	}
	check_error(error);
}

static void walk_names(HashStore *store)
{
	GError *error = NULL;
	g_autoptr(DirectoryCursor) cursor = directory_cursor_open(store, &error);
	const DirectoryName *name;
	unsigned n = 0;

	while (cursor && directory_cursor_next(cursor, &name, &error) && name) {
		g_autofree char *path =
			hash_store_directory_path(store, name->subvolume, name->inode);

		g_assert_nonnull(path);
		g_assert_cmpuint(n++, <, ROWS_MAX);
	}
	check_error(error);
}

static void walk_history(HashStore *store)
{
	GError *error = NULL;
	g_autoptr(PassCursor) passes = pass_cursor_open(store, &error);
	const PassRecord *pass;
	const SkipRecord *skip;
	PassTotals totals;

	while (passes && pass_cursor_next(passes, &pass, &error) && pass)
		g_assert_nonnull(pass_outcome_name(pass->outcome));
	check_error(g_steal_pointer(&error));

	g_autoptr(SkipCursor) skips = skip_cursor_open(store, &error);
	while (skips && skip_cursor_next(skips, &skip, &error) && skip)
		g_assert_nonnull(skip->examples);
	check_error(g_steal_pointer(&error));
	if (!hash_store_pass_totals(store, &totals, &error))
		check_error(error);
}

static void walk_pinned(HashStore *store)
{
	GError *error = NULL;
	PinnedExtent pinned;
	uint64_t from = 0;
	unsigned n = 0;
	bool found;

	while (hash_store_next_pinned(store, from, &pinned, &found, &error) && found) {
		g_assert_cmpuint(n++, <, ROWS_MAX);
		g_assert_cmpuint(pinned.extent.address, >=, from);
		from = pinned.extent.address + 1;
	}
	check_error(g_steal_pointer(&error));
	from = 0;
	while (hash_store_next_open_extent(store, from, &from, &error) && from != UINT64_MAX) {
		g_assert_cmpuint(n++, <, ROWS_MAX);
		from++;
	}
	check_error(error);
}

static void ignore_anchor(uint64_t digest, uint64_t block, void *data)
{
	g_assert_cmpuint(digest, !=, 0);
}

static void ignore_zeros(uint64_t block, void *data)
{
}

/* What is said to be fit to go on with is gone on with. */
static void go_on(const HashStoreAbout *about, GBytes *state, uint64_t done_blocks)
{
	const ObjectSumsSink sink = { ignore_anchor, ignore_zeros, NULL };
	Learned learned;

	if (g_bytes_get_size(state) != sizeof(learned))
		return;
	memcpy(&learned, g_bytes_get_data(state, NULL), sizeof(learned));
	if (!object_sums_may_go_on(&learned.sums, about->anchor_blocks, about->window_anchors, 16,
				   done_blocks))
		return;

	for (uint64_t i = 0; i < 3 * OBJECT_SUMS_TOKENS; i++)
		object_sums_add(&learned.sums, i % 100, &sink);
	object_sums_add_zeros(&learned.sums, 20, &sink);
	object_sums_finish(&learned.sums, 4096, &sink);
}

static void read_halves(HashStore *store)
{
	GError *error = NULL;

	for (uint32_t id = 1; id < 60; id++) {
		g_autoptr(GBytes) state = NULL;
		uint64_t done_blocks;

		if (!hash_store_get_half(store, id, &done_blocks, &state, &error))
			check_error(g_steal_pointer(&error));
		if (state)
			go_on(hash_store_about(store), state, done_blocks);
	}
}

static void read_all(HashStore *store)
{
	const HashStoreAbout *about = hash_store_about(store);
	g_autoptr(GPtrArray) problems = NULL;
	GError *error = NULL;
	StoreSize size;

	/* What a pass computes with. */
	g_assert_cmpuint(about->anchor_blocks, >=, 1);
	g_assert_cmpuint(about->anchor_blocks, <=, WINNOW_ANCHOR_BLOCKS_MAX);
	g_assert_cmpuint(about->window_anchors, >=, 2);
	g_assert_cmpuint(about->window_anchors, <=, WINNOW_WINDOW_MAX);
	g_assert_cmpuint(about->block_bytes & (about->block_bytes - 1), ==, 0);
	g_assert_cmpuint(hash_store_settled_below(store), <=, hash_store_next_object(store));

	if (!hash_store_check(store, &problems, &error))
		check_error(g_steal_pointer(&error));
	walk_objects(store);
	walk_groups(store);
	walk_equal_groups(store, EQUAL_FILES);
	walk_equal_groups(store, EQUAL_EXTENTS);
	walk_equal_groups(store, EQUAL_OR_ALONE_EXTENTS);
	walk_names(store);
	walk_history(store);
	walk_pinned(store);
	read_halves(store);
	if (!hash_store_size(store, &size, &error))
		check_error(g_steal_pointer(&error));
}

/* A store that can be written is written, until it is settled. */
static void write_all(HashStore *store, Choices *choices)
{
	uint32_t ids[IDS_MAX];
	size_t n = 1 + (size_t)choices_below(choices, IDS_MAX);
	Object object = { .subvolume = 256, .inode = 5000, .state = OBJECT_DONE };
	GError *error = NULL;

	for (size_t i = 0; i < n; i++)
		ids[i] = 1 + (uint32_t)choices_below(choices, 60);
	if (hash_store_new_object(store, &object.id, &error) &&
	    hash_store_put(store, &object, &error) &&
	    hash_store_put_anchor(store, &(Anchor){ UINT64_C(1) << 40, object.id, 0 }, &error) &&
	    hash_store_drop(store, 256, 301, &error) && hash_store_commit(store, &error) &&
	    hash_store_renew(store, ids, n, &error) &&
	    hash_store_settle(store, all_live, NULL, &error) &&
	    hash_store_unsettle(store, &error) && hash_store_commit(store, &error) &&
	    hash_store_vacuum(store, &error))
		walk_groups(store);
	check_error(error);
}

static void export(HashStore *store)
{
	GError *error = NULL;
	FILE *usual = stdout;
	char *text = NULL;
	size_t size;

	stdout = open_memstream(&text, &size);
	if (!export_write(store, &error))
		check_error(error);
	fclose(stdout);
	stdout = usual;
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autofree char *path = scratch_path(scratch, HOSTILE_STORE_UUID ".sqlite");
	Choices choices = choices_begin(data, size);
	size_t kind = (size_t)choices_below(&choices, G_N_ELEMENTS(kinds));
	const HashStoreOptions usual = hostile_store_options(scratch->path, kinds[kind]);
	HashStoreOptions options = usual;
	const Image *image = valid_image(kind);
	GError *error = NULL;

	g_file_set_contents(path, image->bytes, (gssize)image->size, &error);
	g_assert_no_error(error);
	if (choices_are_left(&choices))
		hostile_store_damage(&choices, path);

	HashStore *store = hash_store_open_to_read(path, &error);
	check_error(g_steal_pointer(&error));
	if (store) {
		read_all(store);
		export(store);
	}
	hash_store_close(store);

	/* As a pass opens it: k and w are those of the store. */
	options.anchor_blocks = options.window_anchors = 0;
	store = hash_store_open(&options, &error);
	check_error(g_steal_pointer(&error));
	if (store) {
		read_all(store);
		write_all(store, &choices);
	}
	hash_store_close(store);
	return 0;
}
