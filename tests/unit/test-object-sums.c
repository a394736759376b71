/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/object-sums.h"

#include <glib.h>
#include <string.h>

#define K        4
#define W        16
#define ZERO_RUN 16
#define SEED     977
#define BLOCK    UINT64_C(4096)

/* The output, in order. */
typedef struct {
	GArray *anchors; /* of pairs of digest and block */
	GArray *zeros;   /* of blocks */
} Out;

static void take_anchor(uint64_t digest, uint64_t block, void *data)
{
	Out *out = data;

	g_array_append_val(out->anchors, digest);
	g_array_append_val(out->anchors, block);
}

static void take_zeros(uint64_t block, void *data)
{
	Out *out = data;

	g_array_append_val(out->zeros, block);
}

static void out_init(Out *out)
{
	out->anchors = g_array_new(false, false, sizeof(uint64_t));
	out->zeros = g_array_new(false, false, sizeof(uint64_t));
}

static void out_clear(Out *out)
{
	g_array_unref(out->anchors);
	g_array_unref(out->zeros);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Out, out_clear)

static ObjectSumsSink sink_of(Out *out)
{
	return (ObjectSumsSink){ take_anchor, take_zeros, out };
}

/*
 * Add one step per character of @layout: '.' is a block of zeros, '_' of a hole, '#' sixteen of zeros.  Any
 * other is a block whose sum is its code.
 */
static void add(ObjectSums *sums, const char *layout, Out *out)
{
	ObjectSumsSink sink = sink_of(out);

	for (; *layout; layout++) {
		switch (*layout) {
		case '.':
			object_sums_add_zeros(sums, 1, &sink);
			break;
		case '_':
			object_sums_add_hole(sums, 1, &sink);
			break;
		case '#':
			object_sums_add_zeros(sums, 16, &sink);
			break;
		default:
			object_sums_add(sums, (uint64_t)*layout, &sink);
		}
	}
}

static uint64_t digest_with(const char *layout, uint64_t size_bytes, Out *out)
{
	ObjectSumsSink sink = sink_of(out);
	ObjectSums sums;

	object_sums_init(&sums, K, W, ZERO_RUN);
	add(&sums, layout, out);
	return object_sums_finish(&sums, size_bytes, &sink);
}

static uint64_t digest(const char *layout)
{
	g_auto(Out) out;

	out_init(&out);
	return digest_with(layout, 1, &out);
}

static void test_equal_objects_have_one_digest(void)
{
	static const char *const layouts[] = { "", "a", "abcdefgh", "ab____cd", "a#b", "#", "_" };

	for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
		g_assert_cmpuint(digest(layouts[i]), ==, digest(layouts[i]));
		g_assert_cmpuint(digest(layouts[i]), !=, 0);
	}
}

static void test_holes_and_zeros_count_alike(void)
{
	static const char *const pairs[][2] = {
		{ "a.b", "a_b" },
		{ "a..b", "a._b" },
		{ "_", "." },
		{ "a_", "a." },
		{ ".a", "_a" },
		{ "#", "________________" },
		{ "a#b", "a_.._______..____b" },
		{ "_._", "..." },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
		g_assert_cmpuint(digest(pairs[i][0]), ==, digest(pairs[i][1]));
}

static void test_other_content_has_another_digest(void)
{
	static const char *const layouts[] = {
		"",    "a",   "b",   "ab",  "ba",  "aa",   "aaa", ".",  "..",  "a.",   ".a",  "a..",
		"..a", ".a.", "a.a", "aa.", ".aa", "a.aa", "#",   "#.", "a#a", "a.#a", "#aa",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++)
		for (size_t j = 0; j < i; j++)
			g_assert_cmpuint(digest(layouts[i]), !=, digest(layouts[j]));
}

static void test_the_size_is_part_of_the_digest(void)
{
	g_auto(Out) out;

	out_init(&out);
	g_assert_cmpuint(digest_with("abc", 3 * BLOCK, &out), !=,
			 digest_with("abc", 3 * BLOCK - 1, &out));
}

static void test_every_block_of_a_long_object_is_part_of_the_digest(void)
{
	/* Lengths around the size of the buffer. */
	static const size_t lengths[] = { 510, 511, 512, 513, 1023, 1024, 1025 };

	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		g_autofree char *layout = g_strnfill(lengths[i], 'a');
		g_autofree char *longer = g_strnfill(lengths[i] + 1, 'a');
		uint64_t plain = digest(layout);

		g_assert_cmpuint(digest(longer), !=, plain);
		for (size_t at = 0; at < lengths[i]; at += at < 500 ? 100 : 1) {
			layout[at] = 'b';
			g_assert_cmpuint(digest(layout), !=, plain);
			layout[at] = 'a';
		}
	}
}

static void check_zeros(const char *layout, const uint64_t *blocks, size_t n)
{
	g_auto(Out) out;

	out_init(&out);
	digest_with(layout, 1, &out);
	g_assert_cmpmem(out.zeros->data, out.zeros->len * sizeof(uint64_t), blocks,
			n * sizeof(uint64_t));
}

static void test_long_runs_of_zeros_are_told_by_their_start(void)
{
	check_zeros("#", (uint64_t[]){ 0 }, 1);
	check_zeros("a#", (uint64_t[]){ 1 }, 1);
	check_zeros("a#b", (uint64_t[]){ 1 }, 1);
	check_zeros("a##b", (uint64_t[]){ 1 }, 1);
	check_zeros("a.#b#", (uint64_t[]){ 1, 19 }, 2);
	check_zeros("a_#b", (uint64_t[]){ 2 }, 1);
	check_zeros("a#_b", (uint64_t[]){ 1 }, 1);
	/* A hole in between makes two runs, since it need not be shared. */
	check_zeros("a#_#b", (uint64_t[]){ 1, 18 }, 2);
}

static void test_short_runs_of_zeros_are_not_told(void)
{
	check_zeros("a...............b", NULL, 0); /* fifteen */
	check_zeros("a................b", (uint64_t[]){ 1 }, 1);
	check_zeros("a........_.......b", NULL, 0);
	check_zeros("a.", NULL, 0);
	check_zeros(".a", NULL, 0);
	check_zeros("a________________b", NULL, 0);
	check_zeros("", NULL, 0);
}

static void test_an_object_of_zeros_alone_is_told_however_short(void)
{
	check_zeros(".", (uint64_t[]){ 0 }, 1);
	check_zeros("...", (uint64_t[]){ 0 }, 1);
	check_zeros("__", NULL, 0);
}

/* The anchors of each part between zeros are those of that part alone. */
static void test_zeros_and_holes_break_the_anchors(void)
{
	static const char part[] = "the quick brown fox jumps over the lazy dog";
	static const char *const breaks[] = { ".", "_", "#", "._.", "____" };

	for (size_t i = 0; i < G_N_ELEMENTS(breaks); i++) {
		g_autofree char *layout = g_strconcat(part, breaks[i], part, NULL);
		uint64_t gap = strcmp(breaks[i], "#") == 0 ? 16 : strlen(breaks[i]);
		g_auto(Out) alone, both;
		size_t n;

		out_init(&alone);
		out_init(&both);
		digest_with(part, 1, &alone);
		digest_with(layout, 1, &both);
		n = alone.anchors->len;
		g_assert_cmpuint(n, >=, 4);
		g_assert_cmpuint(both.anchors->len, ==, 2 * n);
		g_assert_cmpmem(both.anchors->data, n * sizeof(uint64_t), alone.anchors->data,
				n * sizeof(uint64_t));
		for (size_t at = 0; at < n; at += 2) {
			const uint64_t *first = &g_array_index(alone.anchors, uint64_t, at);
			const uint64_t *second = &g_array_index(both.anchors, uint64_t, n + at);

			g_assert_cmpuint(second[0], ==, first[0]);
			g_assert_cmpuint(second[1], ==, first[1] + strlen(part) + gap);
		}
	}
}

static void test_blocks_are_counted_whatever_they_are(void)
{
	g_auto(Out) out;
	ObjectSums sums;

	out_init(&out);
	object_sums_init(&sums, K, W, ZERO_RUN);
	g_assert_cmpuint(object_sums_blocks(&sums), ==, 0);
	add(&sums, "ab.._#cde", &out);
	g_assert_cmpuint(object_sums_blocks(&sums), ==, 2 + 2 + 1 + 16 + 3);
}

static void test_without_anchors_the_digest_is_the_same(void)
{
	static const char *const layouts[] = {
		"",  "a",   "abcdefghijklmnopqrstuvwxyzabcdefghijkl", "ab____cd", "a#b", "#",
		"_", "a##_"
	};

	for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
		g_auto(Out) out;
		ObjectSumsSink sink;
		ObjectSums sums;

		out_init(&out);
		sink = sink_of(&out);
		object_sums_init(&sums, K, 0, ZERO_RUN);
		g_assert_false(object_sums_have_anchors(&sums));
		add(&sums, layouts[i], &out);
		g_assert_cmpuint(object_sums_finish(&sums, 1, &sink), ==, digest(layouts[i]));
		g_assert_cmpuint(out.anchors->len + out.zeros->len, ==, 0);
	}
}

/* The state of a half-read file comes from a store, which may be damaged. */
static void test_what_cannot_have_been_made_is_not_gone_on_with(void)
{
	g_auto(Out) out = { 0 };
	ObjectSums made, sums;

	out_init(&out);
	object_sums_init(&made, K, W, ZERO_RUN);
	add(&made, "abcdefghijklmnopqrstuvwxyzabc__#..", &out);
	g_assert_true(object_sums_may_go_on(&made, K, W, ZERO_RUN, object_sums_blocks(&made)));
	g_assert_false(object_sums_may_go_on(&made, K, W, ZERO_RUN, 1));
	g_assert_false(object_sums_may_go_on(&made, K + 1, W, ZERO_RUN, object_sums_blocks(&made)));

#define ASSERT_REFUSED(member, value)                                                              \
	sums = made;                                                                               \
	sums.member = (value);                                                                     \
	g_assert_false(object_sums_may_go_on(&sums, K, W, ZERO_RUN, object_sums_blocks(&made)))

	ASSERT_REFUSED(n_tokens, OBJECT_SUMS_TOKENS);
	ASSERT_REFUSED(n_tokens, UINT64_MAX);
	ASSERT_REFUSED(zeros, UINT64_MAX);
	ASSERT_REFUSED(data_zeros, UINT64_MAX);
	ASSERT_REFUSED(winnow.anchor_blocks, 0);
	ASSERT_REFUSED(winnow.anchor_blocks, WINNOW_ANCHOR_BLOCKS_MAX + 1);
	ASSERT_REFUSED(winnow.window_anchors, WINNOW_WINDOW_MAX + 1);
	ASSERT_REFUSED(winnow.n_hashes, 1000);
	ASSERT_REFUSED(winnow.n_sums, UINT64_MAX);
	ASSERT_REFUSED(winnow.last_choice, 1000);
	ASSERT_REFUSED(winnow.repeats_until, UINT64_MAX);
#undef ASSERT_REFUSED
}

static void test_a_copy_goes_on_as_the_original_would(void)
{
	static const char letters[] = "ab.._#xyz";
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED);

	for (int round = 0; round < 100; round++) {
		size_t n = g_rand_int(rand) % 1500;
		size_t cut = g_rand_int(rand) % (n + 1);
		g_autofree char *layout = g_malloc0(n + 1);
		g_autofree char *head = NULL;
		g_auto(Out) expected, out;
		ObjectSumsSink sink = sink_of(&out);
		ObjectSums first, second;
		uint64_t found;

		for (size_t i = 0; i < n; i++)
			layout[i] = letters[g_rand_int(rand) % strlen(letters)];
		head = g_strndup(layout, cut);
		out_init(&expected);
		out_init(&out);

		object_sums_init(&first, K, W, ZERO_RUN);
		add(&first, head, &out);
		memcpy(&second, &first, sizeof(second));
		memset(&first, 0xff, sizeof(first));
		add(&second, layout + cut, &out);
		found = object_sums_finish(&second, n, &sink);

		g_assert_cmpuint(found, ==, digest_with(layout, n, &expected));
		g_assert_cmpmem(out.anchors->data, out.anchors->len * sizeof(uint64_t),
				expected.anchors->data, expected.anchors->len * sizeof(uint64_t));
		g_assert_cmpmem(out.zeros->data, out.zeros->len * sizeof(uint64_t),
				expected.zeros->data, expected.zeros->len * sizeof(uint64_t));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/object-sums/equal-objects-have-one-digest",
			test_equal_objects_have_one_digest);
	g_test_add_func("/object-sums/holes-and-zeros-count-alike",
			test_holes_and_zeros_count_alike);
	g_test_add_func("/object-sums/other-content-has-another-digest",
			test_other_content_has_another_digest);
	g_test_add_func("/object-sums/the-size-is-part-of-the-digest",
			test_the_size_is_part_of_the_digest);
	g_test_add_func("/object-sums/every-block-of-a-long-object-is-part-of-the-digest",
			test_every_block_of_a_long_object_is_part_of_the_digest);
	g_test_add_func("/object-sums/long-runs-of-zeros-are-told-by-their-start",
			test_long_runs_of_zeros_are_told_by_their_start);
	g_test_add_func("/object-sums/short-runs-of-zeros-are-not-told",
			test_short_runs_of_zeros_are_not_told);
	g_test_add_func("/object-sums/an-object-of-zeros-alone-is-told-however-short",
			test_an_object_of_zeros_alone_is_told_however_short);
	g_test_add_func("/object-sums/zeros-and-holes-break-the-anchors",
			test_zeros_and_holes_break_the_anchors);
	g_test_add_func("/object-sums/blocks-are-counted-whatever-they-are",
			test_blocks_are_counted_whatever_they_are);
	g_test_add_func("/object-sums/without-anchors-the-digest-is-the-same",
			test_without_anchors_the_digest_is_the_same);
	g_test_add_func("/object-sums/a-copy-goes-on-as-the-original-would",
			test_a_copy_goes_on_as_the_original_would);

	g_test_add_func("/object-sums/what-cannot-have-been-made-is-not-gone-on-with",
			test_what_cannot_have_been_made_is_not_gone_on_with);
	return g_test_run();
}
