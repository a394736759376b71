/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/clone-scan.h"

#include "daemon/share/clone-pairs.h"
#include "tests/unit/failing-store.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY (1 << 20)
#define MOST   32

/* A file of n blocks lies at the block n * FAR of the disk, but one of this many is not written out yet. */
#define FAR     1000
#define DELAYED 9

typedef struct {
	PassFixture *pass;
	Pass *context;
	CloneRefs *refs;
} Fixture;

int ioctl(int fd, unsigned long request, ...)
{
	struct fiemap *map;
	struct stat stat;
	va_list arguments;
	uint64_t blocks;

	va_start(arguments, request);
	map = va_arg(arguments, struct fiemap *);
	va_end(arguments);

	if (request != FS_IOC_FIEMAP || fstat(fd, &stat) != 0) {
		errno = ENOTTY;
		return -1;
	}
	blocks = ((uint64_t)stat.st_size + FIXTURE_BLOCK_BYTES - 1) / FIXTURE_BLOCK_BYTES;
	map->fm_mapped_extents = 1;
	map->fm_extents[0] = (struct fiemap_extent){
		.fe_physical = blocks * FAR * FIXTURE_BLOCK_BYTES,
		.fe_length = blocks * FIXTURE_BLOCK_BYTES,
		.fe_flags = FIEMAP_EXTENT_LAST | (blocks == DELAYED ? FIEMAP_EXTENT_DELALLOC : 0),
	};
	return 0;
}

/* All blocks of the disk are looked for, at which files of up to 12 blocks can lie. */
static void set_up(Fixture *fixture, const void *data)
{
	fixture->pass = pass_fixture_new();
	fixture->context = &fixture->pass->pass;
	fixture->context->xfs.clones =
		clone_pairs_new(MEMORY, fixture->pass->scratch->path, &fixture->pass->stop);
	fixture->refs = clone_refs_new(MEMORY, MOST);
	g_assert_true(clone_refs_want(fixture->refs, 0, 12 * FAR + 12));
	clone_refs_begin(fixture->refs);
}

static void tear_down(Fixture *fixture, const void *data)
{
	clone_pairs_free(fixture->context->xfs.clones);
	clone_refs_free(fixture->refs);
	pass_fixture_free(fixture->pass);
}

/* A file of so many blocks, of which half a block is missing. */
static uint32_t put(Fixture *fixture, uint64_t blocks, unsigned flags)
{
	return pass_fixture_put_file(fixture->pass, (blocks * 2 - 1) * FIXTURE_BLOCK_BYTES / 2,
				     flags);
}

static bool scan(Fixture *fixture)
{
	g_autoptr(GError) error = NULL;
	bool is_complete;

	g_assert_true(hash_store_commit(fixture->context->store, &error));
	g_assert_true(clone_scan(fixture->context, fixture->refs, fixture->pass->opener,
				 &is_complete, &error));
	g_assert_no_error(error);
	return is_complete;
}

/* Whether references were found to all blocks of a file of so many; *ret: to the first of them. */
static bool is_referenced(const Fixture *fixture, uint64_t blocks, CloneRef *ret)
{
	g_autoptr(GArray) refs = g_array_new(false, false, sizeof(CloneRef));
	CloneRefSet set = { .refs = refs };

	clone_refs_at(fixture->refs, blocks * FAR, blocks, &set);
	g_assert_cmpuint(set.n, <=, 1);
	if (set.n > 0)
		*ret = g_array_index(refs, CloneRef, 0);
	return set.n > 0 && set.blocks == blocks;
}

static void test_files_that_may_have_clones_are_mapped(Fixture *fixture, const void *data)
{
	uint32_t cloned = put(fixture, 3, OBJECT_CLONED);
	uint32_t shared = put(fixture, 4, OBJECT_SHARED);
	uint32_t touched = put(fixture, 5, 0);
	CloneRef ref;

	put(fixture, 6, 0);
	put(fixture, DELAYED, OBJECT_CLONED);
	clone_pairs_touch(fixture->context->xfs.clones, touched);
	g_assert_true(scan(fixture));

	g_assert_true(is_referenced(fixture, 3, &ref));
	g_assert_cmpuint(ref.object, ==, cloned);
	g_assert_cmpuint(ref.place, ==, 3 * FAR);
	g_assert_cmpuint(ref.block, ==, 0);
	g_assert_true(is_referenced(fixture, 4, &ref));
	g_assert_cmpuint(ref.object, ==, shared);
	g_assert_true(is_referenced(fixture, 5, &ref));
	g_assert_cmpuint(ref.object, ==, touched);
	g_assert_false(is_referenced(fixture, 6, &ref));
	g_assert_false(is_referenced(fixture, DELAYED, &ref));
}

/* Nothing is known of the data of one that was not read to its end.  One that is gone is no obstacle. */
static void test_other_objects_are_passed_over(Fixture *fixture, const void *data)
{
	uint32_t gone = put(fixture, 3, OBJECT_CLONED);
	g_autofree char *name = g_strdup_printf("object-%u", gone);
	Object half = { .state = OBJECT_HALF, .flags = OBJECT_CLONED };
	CloneRef ref;

	pass_fixture_put_object(fixture->pass, &half);
	put(fixture, 4, OBJECT_CLONED);
	g_assert_cmpint(unlinkat(fixture->pass->scratch->fd, name, 0), ==, 0);
	g_assert_true(scan(fixture));
	g_assert_false(is_referenced(fixture, 3, &ref));
	g_assert_true(is_referenced(fixture, 4, &ref));
}

static void test_it_says_whether_all_were_found(Fixture *fixture, const void *data)
{
	put(fixture, 3, OBJECT_CLONED);
	atomic_store(&fixture->pass->stop, true);
	g_assert_false(scan(fixture));
	atomic_store(&fixture->pass->stop, false);
	g_assert_true(scan(fixture));

	/* No memory for references. */
	clone_refs_free(fixture->refs);
	fixture->refs = clone_refs_new(0, MOST);
	g_assert_true(clone_refs_want(fixture->refs, 3 * FAR, 3 * FAR + 1));
	clone_refs_begin(fixture->refs);
	g_assert_false(scan(fixture));
}

static void note(Fixture *fixture)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(clone_scan_note(fixture->context, &error));
	g_assert_no_error(error);
}

static void assert_stored(const Fixture *fixture, uint32_t id, uint64_t blocks, unsigned flags)
{
	g_autofree char *name = g_strdup_printf("object-%u", id);
	const Object *stored;

	g_assert_true(hash_store_find(fixture->context->store, id, &stored, NULL));
	g_assert_cmpuint(stored->flags, ==, flags);
	g_assert_cmpuint(stored->size_bytes, ==, blocks * FIXTURE_BLOCK_BYTES);
	g_assert_cmpmem(stored->name, stored->name_bytes, name, strlen(name));
}

static void test_files_that_shared_are_recorded(Fixture *fixture, const void *data)
{
	uint32_t first = pass_fixture_put(fixture->pass, 3, OBJECT_KEEP_ZEROS);
	uint32_t other = pass_fixture_put(fixture->pass, 4, 0);
	uint32_t cloned = pass_fixture_put(fixture->pass, 5, OBJECT_CLONED);
	uint32_t dropped = pass_fixture_put(fixture->pass, 6, 0);
	uint32_t last = pass_fixture_put(fixture->pass, 7, 0);
	ClonePairs *clones = fixture->context->xfs.clones;

	g_assert_true(hash_store_drop(fixture->context->store, 0, 1000 + dropped, NULL));
	clone_pairs_touch(clones, first);
	clone_pairs_touch(clones, cloned);
	clone_pairs_touch(clones, dropped);
	clone_pairs_touch(clones, last);

	/* A dry run shares nothing, and a pass over btrfs knows no pairs. */
	fixture->pass->settings.dry_run = true;
	note(fixture);
	fixture->pass->settings.dry_run = false;
	fixture->context->xfs.clones = NULL;
	note(fixture);
	assert_stored(fixture, first, 3, OBJECT_KEEP_ZEROS);
	assert_stored(fixture, last, 7, 0);

	fixture->context->xfs.clones = clones;
	note(fixture);
	assert_stored(fixture, first, 3, OBJECT_KEEP_ZEROS | OBJECT_CLONED);
	assert_stored(fixture, other, 4, 0);
	assert_stored(fixture, cloned, 5, OBJECT_CLONED);
	assert_stored(fixture, last, 7, OBJECT_CLONED);
}

static bool scan_it(void *data, GError **error)
{
	Fixture *fixture = data;
	bool is_complete;

	return clone_scan(fixture->context, fixture->refs, fixture->pass->opener, &is_complete,
			  error);
}

static bool note_it(void *data, GError **error)
{
	Fixture *fixture = data;

	return clone_scan_note(fixture->context, error);
}

static void test_errors_are_passed_on(Fixture *fixture, const void *data)
{
	uint32_t touched = put(fixture, 3, 0);
	const Object *noted;

	put(fixture, 4, OBJECT_CLONED);
	g_assert_true(hash_store_commit(fixture->context->store, NULL));
	clone_pairs_touch(fixture->context->xfs.clones, touched);
	failing_store_try(fixture->context->store, scan_it, fixture);
	failing_store_try(fixture->context->store, note_it, fixture);
	g_assert_true(hash_store_find(fixture->context->store, touched, &noted, NULL));
	g_assert_cmpuint(noted->flags, ==, OBJECT_CLONED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/clone-scan/" name, Fixture, NULL, set_up, test, tear_down)
	ADD("files-that-may-have-clones-are-mapped", test_files_that_may_have_clones_are_mapped);
	ADD("other-objects-are-passed-over", test_other_objects_are_passed_over);
	ADD("it-says-whether-all-were-found", test_it_says_whether_all_were_found);
	ADD("files-that-shared-are-recorded", test_files_that_shared_are_recorded);
	ADD("errors-are-passed-on", test_errors_are_passed_on);

	return g_test_run();
}
