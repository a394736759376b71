/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/object-sums.h"
#include "tests/fuzz/fuzz.h"

#include <glib.h>
#include <string.h>

/*
 * The first byte chooses k and w, the second how holes and zeros are told, the third where to stop
 * and go on with a copy; every other one is a step: a block, or some zeros.
 */
#define HEAD_BYTES 3

#define ZERO_RUN_BLOCKS 16

const char *const fuzz_seeds[] = {
	"000the quick brown fox",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"1xxabababababababababab",
	"2",
	"bbbabcabcabcabcabcabcabcabcabcabcabcabcabcabc\xff\xfe\xfdzzzzzzzz",
	NULL,
};

typedef struct {
	uint64_t block;
	uint64_t digest;
} Kept;

typedef struct {
	GArray *kept;
	uint64_t digest;
	uint64_t blocks;
} Result;

static void keep(uint64_t digest, uint64_t block, void *data)
{
	Kept kept = { block, digest };

	g_assert_cmpuint(digest, !=, 0);
	g_array_append_val((GArray *)data, kept);
}

static void keep_zeros(uint64_t block, void *data)
{
	Kept kept = { block, 0 };

	g_array_append_val((GArray *)data, kept);
}

static void step(ObjectSums *sums, uint8_t byte, bool as_hole, const ObjectSumsSink *sink)
{
	if (byte < 240)
		object_sums_add(sums, 1 + byte, sink);
	else if (as_hole)
		object_sums_add_hole(sums, 1 + byte % 16 * 2, sink);
	else
		object_sums_add_zeros(sums, 1 + byte % 16 * 2, sink);
}

static void result_clear(Result *result)
{
	g_array_unref(result->kept);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Result, result_clear)

/* Take all steps; before step @cut a copy takes over. */
static void make(const uint8_t *data, size_t size, bool as_holes, size_t cut, Result *ret)
{
	ObjectSumsSink sink;
	ObjectSums sums, copy;
	ObjectSums *used = &sums;

	ret->kept = g_array_new(false, false, sizeof(Kept));
	sink = (ObjectSumsSink){ keep, keep_zeros, ret->kept };
	object_sums_init(&sums, 1 + data[0] % WINNOW_ANCHOR_BLOCKS_MAX,
			 2 + data[0] / 16 * 4 % (WINNOW_WINDOW_MAX - 1), ZERO_RUN_BLOCKS);

	for (size_t i = HEAD_BYTES; i < size; i++) {
		if (i == cut) {
			memcpy(&copy, &sums, sizeof(copy));
			memset(&sums, 0xff, sizeof(sums));
			used = &copy;
		}
		step(used, data[i], as_holes ^ (data[1] >> i % 8 & 1), &sink);
	}
	ret->blocks = object_sums_blocks(used);
	ret->digest = object_sums_finish(used, size, &sink);
}

static int compare_kept(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(Kept));
}

/* Each position is in the object, and kept once. */
static void check(const Result *result)
{
	g_autoptr(GArray) sorted = g_array_copy(result->kept);

	g_array_sort(sorted, compare_kept);
	for (guint i = 0; i < sorted->len; i++) {
		const Kept *kept = &g_array_index(sorted, Kept, i);

		g_assert_cmpuint(kept->block, <, result->blocks);
		g_assert_true(i == 0 || kept[-1].block != kept->block);
	}
	g_assert_cmpuint(result->digest, !=, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_auto(Result) whole = { 0 };
	g_auto(Result) cut = { 0 };
	g_auto(Result) other = { 0 };

	if (size < HEAD_BYTES) {
		whole.kept = g_array_new(false, false, 1);
		cut.kept = g_array_new(false, false, 1);
		other.kept = g_array_new(false, false, 1);
		return 0;
	}

	make(data, size, false, SIZE_MAX, &whole);
	make(data, size, false, HEAD_BYTES + data[2] * size / 256, &cut);
	make(data, size, true, SIZE_MAX, &other);
	check(&whole);
	g_assert_cmpuint(cut.digest, ==, whole.digest);
	g_assert_cmpmem(cut.kept->data, cut.kept->len * sizeof(Kept), whole.kept->data,
			whole.kept->len * sizeof(Kept));
	/* Holes and zeros count alike. */
	g_assert_cmpuint(other.digest, ==, whole.digest);
	g_assert_cmpuint(other.blocks, ==, whole.blocks);
	return 0;
}
