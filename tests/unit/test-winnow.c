/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/winnow.h"

#include <glib.h>
#include <string.h>

#define SEED 20031

typedef struct {
	uint64_t digest;
	uint64_t block;
} Kept;

typedef struct {
	uint32_t k;
	uint32_t w;
} Shape;

static const Shape shapes[] = { { 4, 16 }, { 1, 2 }, { 2, 8 }, { 4, 8 }, { 16, 64 } };

/* A sequence of sums: the choice of Winnow, and facts computed without it. */
typedef struct {
	Shape shape;
	size_t n;
	uint64_t *sums;
	size_t n_hashes;
	uint64_t *digests; /* of each position */
	bool *is_kept;     /* each position */
	size_t n_kept;
} Sequence;

static void keep(uint64_t digest, uint64_t block, void *data)
{
	Kept kept = { digest, block };

	g_array_append_val((GArray *)data, kept);
}

static void keep_none(uint64_t digest, uint64_t block, void *data)
{
	g_assert_not_reached();
}

static Kept *kept_at(GArray *all, size_t i)
{
	return &g_array_index(all, Kept, i);
}

static GArray *kept_new(void)
{
	return g_array_new(false, false, sizeof(Kept));
}

static GArray *winnow_all(Shape shape, const uint64_t *sums, size_t n)
{
	GArray *all = kept_new();
	Winnow winnow;

	winnow_init(&winnow, shape.k, shape.w);
	for (size_t i = 0; i < n; i++)
		winnow_add(&winnow, sums[i], keep, all);
	winnow_break(&winnow, 0, keep, all);

	return all;
}

/* The digest of the k sums at @sums: a sequence with one hash keeps it. */
static uint64_t digest_of(Shape shape, const uint64_t *sums)
{
	g_autoptr(GArray) all = winnow_all(shape, sums, shape.k);

	g_assert_cmpuint(all->len, ==, 1);
	g_assert_cmpuint(kept_at(all, 0)->block, ==, 0);
	g_assert_cmpuint(kept_at(all, 0)->digest, !=, 0);

	return kept_at(all, 0)->digest;
}

/* Takes over @sums. */
static Sequence *sequence_new_take(Shape shape, uint64_t *sums, size_t n)
{
	Sequence *sequence = g_new0(Sequence, 1);
	g_autoptr(GArray) all = winnow_all(shape, sums, n);

	sequence->shape = shape;
	sequence->n = n;
	sequence->sums = sums;
	sequence->n_hashes = n - shape.k + 1;
	sequence->digests = g_new(uint64_t, sequence->n_hashes);
	sequence->is_kept = g_new0(bool, sequence->n_hashes);
	sequence->n_kept = all->len;

	for (size_t i = 0; i < sequence->n_hashes; i++)
		sequence->digests[i] = digest_of(shape, sums + i);
	for (size_t i = 0; i < all->len; i++) {
		const Kept *kept = kept_at(all, i);

		g_assert_cmpuint(kept->block, <, sequence->n_hashes);
		g_assert_cmpuint(kept->digest, ==, sequence->digests[kept->block]);
		sequence->is_kept[kept->block] = true;
	}

	return sequence;
}

static void sequence_free(Sequence *sequence)
{
	g_free(sequence->sums);
	g_free(sequence->digests);
	g_free(sequence->is_kept);
	g_free(sequence);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sequence, sequence_free)

static bool is_unique(const Sequence *sequence, size_t position, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		if (i != position && sequence->digests[i] == sequence->digests[position])
			return false;

	return true;
}

/*
 * The position that the contract names among the @n hashes from @first on.  If all are repeated, any with the
 * smallest digest serves; the first one is returned.
 */
static size_t choice_of(const Sequence *sequence, size_t first, size_t n, bool *ret_unique)
{
	size_t chosen = first;

	*ret_unique = false;
	for (size_t i = first; i < first + n; i++) {
		bool unique = is_unique(sequence, i, first, n);

		if (unique < *ret_unique)
			continue;
		if (unique > *ret_unique || sequence->digests[i] < sequence->digests[chosen])
			chosen = i;
		*ret_unique |= unique;
	}

	return chosen;
}

/* Fill in random sums over an alphabet of @letters. */
static void fill_random(GRand *rand, uint64_t *sums, size_t n, uint32_t letters)
{
	for (size_t i = 0; i < n; i++)
		sums[i] = 1 + g_rand_int(rand) % letters;
}

static void fill_period(GRand *rand, uint64_t *sums, size_t n, size_t period)
{
	for (size_t i = 0; i < n; i++)
		sums[i] = i < period ? g_rand_int(rand) : sums[i - period];
}

/* Fill in pieces of all kinds, including copies of earlier ones. */
static void fill_mixture(GRand *rand, uint64_t *sums, size_t n)
{
	for (size_t done = 0; done < n;) {
		size_t wanted = 1 + g_rand_int(rand) % 120;
		size_t length = MIN(n - done, wanted);
		size_t from = done ? g_rand_int(rand) % done : 0;

		switch (g_rand_int(rand) % 5) {
		case 0:
			fill_period(rand, sums + done, length, 1 + g_rand_int(rand) % 3);
			break;
		case 1:
			fill_random(rand, sums + done, length, 2);
			break;
		case 2:
			fill_random(rand, sums + done, length, G_MAXUINT32);
			break;
		default:
			for (size_t i = 0; i < length; i++)
				sums[done + i] = sums[from + i];
		}
		done += length;
	}
}

typedef enum {
	DATA_CONSTANT,
	DATA_PERIOD_2,
	DATA_PERIOD_3,
	DATA_PERIOD_7,
	DATA_TWO_LETTERS,
	DATA_FOUR_LETTERS,
	DATA_MIXTURE,
	DATA_RANDOM,
	DATA_KINDS,
} DataKind;

static Sequence *sequence_new(GRand *rand, Shape shape, DataKind kind, size_t n)
{
	uint64_t *sums = g_new0(uint64_t, n);

	switch (kind) {
	case DATA_CONSTANT:
		fill_period(rand, sums, n, 1);
		break;
	case DATA_PERIOD_2:
		fill_period(rand, sums, n, 2);
		break;
	case DATA_PERIOD_3:
		fill_period(rand, sums, n, 3);
		break;
	case DATA_PERIOD_7:
		fill_period(rand, sums, n, 7);
		break;
	case DATA_TWO_LETTERS:
		fill_random(rand, sums, n, 2);
		break;
	case DATA_FOUR_LETTERS:
		fill_random(rand, sums, n, 4);
		break;
	case DATA_MIXTURE:
		fill_mixture(rand, sums, n);
		break;
	case DATA_RANDOM:
	case DATA_KINDS:
		fill_random(rand, sums, n, G_MAXUINT32);
		break;
	}

	return sequence_new_take(shape, sums, n);
}

/* Another sequence with copied pieces of @from, at other positions and mirrored shifts. */
static Sequence *sequence_new_like(GRand *rand, const Sequence *from, DataKind kind)
{
	uint32_t at_least = from->shape.w + from->shape.k - 1;
	g_autoptr(Sequence) fresh = sequence_new(rand, from->shape, kind, from->n);
	uint64_t *sums = g_memdup2(fresh->sums, from->n * sizeof(*sums));

	for (int i = 0; i < 4; i++) {
		size_t wanted = at_least + g_rand_int(rand) % 3;
		size_t length = MIN(from->n, wanted);
		size_t source = g_rand_int(rand) % (from->n - length + 1);
		size_t target = g_rand_int(rand) % (from->n - length + 1);

		memcpy(sums + target, from->sums + source, length * sizeof(*sums));
	}

	return sequence_new_take(from->shape, sums, from->n);
}

/* The w + k - 1 blocks at @i of @a equal those at @j of @b. */
static void check_stretch(const Sequence *a, size_t i, const Sequence *b, size_t j)
{
	uint32_t w = a->shape.w;
	bool unique, diagonal = false, any = false;

	for (size_t t = 0; t < w; t++)
		diagonal |= a->is_kept[i + t] && b->is_kept[j + t];

	for (size_t s = 0; !diagonal && !any && s < w; s++)
		for (size_t t = 0; a->is_kept[i + s] && t < w; t++)
			any |= b->is_kept[j + t] && a->digests[i + s] == b->digests[j + t];

	if (!diagonal)
		choice_of(a, i, w, &unique);
	if (!diagonal && (unique || !any))
		g_error("k %u, w %u: no common anchor %sof block %zu and block %zu", a->shape.k, w,
			unique ? "on the diagonal " : "", i, j);
}

/* Check all equal ranges of the two sequences, which may be one.  Returns their number. */
static size_t check_promise(const Sequence *a, const Sequence *b)
{
	size_t enough = a->shape.w + a->shape.k - 1;
	size_t n_stretches = 0;

	for (size_t shift = 0; shift < a->n + b->n - 1; shift++) {
		size_t i = shift < b->n ? 0 : shift - b->n + 1;
		size_t j = shift < b->n ? b->n - 1 - shift : 0;
		size_t equal = 0;

		for (; i < a->n && j < b->n; i++, j++) {
			equal = a->sums[i] == b->sums[j] ? equal + 1 : 0;
			if (equal < enough || (a == b && i == j))
				continue;
			check_stretch(a, i + 1 - enough, b, j + 1 - enough);
			n_stretches++;
		}
	}

	return n_stretches;
}

static void test_equal_stretches_share_an_anchor(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED);

	for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
		size_t length = shapes[s].w + shapes[s].k - 1;
		size_t n_stretches = 0;

		for (int i = 0; i < 10 * DATA_KINDS; i++) {
			size_t n = length + g_rand_int(rand) % (3 * length + 60);
			g_autoptr(Sequence) a = sequence_new(rand, shapes[s], i % DATA_KINDS, n);
			g_autoptr(Sequence) b = sequence_new_like(rand, a, (i / 2) % DATA_KINDS);

			n_stretches += check_promise(a, b);
			n_stretches += check_promise(a, a);
		}
		g_assert_cmpuint(n_stretches, >, 10000);
	}
}

/* In both directions: Winnow keeps the choices of the contract, and nothing else. */
static void check_choices(const Sequence *sequence)
{
	uint32_t w = sequence->shape.w;
	g_autofree bool *named = g_new0(bool, sequence->n_hashes);

	for (size_t first = 0; first + w <= sequence->n_hashes; first++) {
		bool unique;
		size_t chosen = choice_of(sequence, first, w, &unique);
		bool any = false;

		for (size_t i = first; i < first + w; i++) {
			if (unique ? i != chosen
				   : sequence->digests[i] != sequence->digests[chosen])
				continue;
			named[i] = true;
			any |= sequence->is_kept[i];
		}
		g_assert_true(any);
	}

	for (size_t i = 0; i < sequence->n_hashes; i++)
		g_assert_true(named[i] || !sequence->is_kept[i]);
}

static void test_what_is_kept_is_what_the_contract_names(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 1);

	for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
		size_t length = shapes[s].w + shapes[s].k - 1;

		for (int i = 0; i < 8 * DATA_KINDS; i++) {
			g_autoptr(Sequence) sequence =
				sequence_new(rand, shapes[s], i % DATA_KINDS,
					     length + g_rand_int(rand) % (2 * length + 60));

			check_choices(sequence);
		}
	}
}

static void test_no_position_is_kept_twice(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 2);

	for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
		for (int i = 0; i < 20 * DATA_KINDS; i++) {
			g_autoptr(Sequence) sequence =
				sequence_new(rand, shapes[s], i % DATA_KINDS, 300);
			size_t n_positions = 0;

			for (size_t at = 0; at < sequence->n_hashes; at++)
				n_positions += sequence->is_kept[at];
			g_assert_cmpuint(sequence->n_kept, ==, n_positions);
		}
	}
}

static double density(GRand *rand, Shape shape, DataKind kind, size_t n)
{
	g_autofree uint64_t *sums = g_new(uint64_t, n);
	g_autoptr(GArray) all = NULL;

	if (kind == DATA_RANDOM)
		fill_random(rand, sums, n, G_MAXUINT32);
	else
		fill_period(rand, sums, n, 1 + kind - DATA_CONSTANT);
	all = winnow_all(shape, sums, n);

	return (double)all->len / (double)n;
}

static void test_random_data_keeps_two_of_w_plus_1(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 3);

	for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
		double expected = 2.0 / (shapes[s].w + 1);
		double found = density(rand, shapes[s], DATA_RANDOM, 40000);

		g_assert_cmpfloat(found, >, 0.95 * expected);
		g_assert_cmpfloat(found, <, 1.05 * expected);
	}
}

static void test_constant_data_keep_one_of_w(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 4);

	for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
		double found = density(rand, shapes[s], DATA_CONSTANT, 10000);

		g_assert_cmpfloat(found, >, 0.95 / shapes[s].w);
		g_assert_cmpfloat(found, <, 1.05 / shapes[s].w);
	}
}

static void test_periodic_data_keep_less_than_random(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 5);

	for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
		if (shapes[s].w < 8)
			continue;
		g_assert_cmpfloat(density(rand, shapes[s], DATA_PERIOD_2, 10000), <,
				  2.0 / (shapes[s].w + 1));
		g_assert_cmpfloat(density(rand, shapes[s], DATA_PERIOD_3, 10000), <,
				  2.0 / (shapes[s].w + 1));
	}
}

static void assert_same(GArray *a, GArray *b)
{
	g_assert_cmpmem(a->data, a->len * sizeof(Kept), b->data, b->len * sizeof(Kept));
}

static void test_a_break_ends_a_stretch(void)
{
	static const Shape shape = { 4, 16 };
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 6);

	for (int round = 0; round < 50; round++) {
		g_autoptr(GArray) all = kept_new();
		g_autoptr(GArray) expected = kept_new();
		uint64_t block = 0;
		Winnow winnow;

		winnow_init(&winnow, shape.k, shape.w);
		for (int i = 0; i < 8; i++) {
			size_t n = g_rand_int(rand) % 50;
			uint64_t gap = 1 + g_rand_int(rand) % 1000;
			g_autofree uint64_t *sums = g_new0(uint64_t, n + 1);
			g_autoptr(GArray) alone = NULL;

			fill_mixture(rand, sums, n);
			alone = winnow_all(shape, sums, n);
			for (size_t at = 0; at < alone->len; at++) {
				kept_at(alone, at)->block += block;
				g_array_append_val(expected, *kept_at(alone, at));
			}

			for (size_t at = 0; at < n; at++)
				winnow_add(&winnow, sums[at], keep, all);
			winnow_break(&winnow, gap, keep, all);
			block += n + gap;
			g_assert_cmpuint(winnow.next_block, ==, block);
		}
		assert_same(all, expected);
	}
}

static void test_a_short_stretch_keeps_its_smallest(void)
{
	static const Shape shape = { 4, 16 };
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 7);

	for (uint32_t n_hashes = 1; n_hashes < shape.w; n_hashes++) {
		for (DataKind kind = DATA_CONSTANT; kind < DATA_KINDS; kind++) {
			g_autoptr(Sequence) sequence =
				sequence_new(rand, shape, kind, n_hashes + shape.k - 1);
			bool unique;
			size_t chosen = choice_of(sequence, 0, n_hashes, &unique);
			g_autoptr(GArray) all = winnow_all(shape, sequence->sums, sequence->n);

			g_assert_cmpuint(all->len, ==, 1);
			g_assert_cmpuint(kept_at(all, 0)->digest, ==, sequence->digests[chosen]);
			if (unique)
				g_assert_cmpuint(kept_at(all, 0)->block, ==, chosen);
		}
	}
}

static void test_less_than_an_anchor_keeps_nothing(void)
{
	Winnow winnow;

	winnow_init(&winnow, 4, 16);
	for (int i = 0; i < 100; i++) {
		for (uint64_t sum = 1; sum < 4; sum++)
			winnow_add(&winnow, sum, keep_none, NULL);
		winnow_break(&winnow, 1, keep_none, NULL);
	}
	g_assert_cmpuint(winnow.next_block, ==, 400);
}

static void test_equal_windows_have_one_digest_whatever_came_before(void)
{
	static const uint64_t sums[] = { 9, 1, 2, 3, 4, 5, 1, 2, 3, 4, 4, 3, 2, 1 };
	static const Shape shape = { 4, 16 };

	g_assert_cmpuint(digest_of(shape, sums + 1), ==, digest_of(shape, sums + 6));
	g_assert_cmpuint(digest_of(shape, sums + 1), !=, digest_of(shape, sums + 10));
	g_assert_cmpuint(digest_of(shape, sums), !=, digest_of(shape, sums + 1));
	/* k is a part of the hashed data. */
	g_assert_cmpuint(digest_of((Shape){ 1, 16 }, sums + 1), !=, digest_of(shape, sums + 1));
}

static void test_a_copy_goes_on_as_the_original_would(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED + 8);

	for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
		for (int i = 0; i < 10 * DATA_KINDS; i++) {
			size_t n = 300;
			g_autoptr(Sequence) sequence =
				sequence_new(rand, shapes[s], i % DATA_KINDS, n);
			g_autoptr(GArray) expected = winnow_all(shapes[s], sequence->sums, n);
			g_autoptr(GArray) all = kept_new();
			size_t cut = g_rand_int(rand) % (n + 1);
			Winnow first, second;

			winnow_init(&first, shapes[s].k, shapes[s].w);
			for (size_t at = 0; at < cut; at++)
				winnow_add(&first, sequence->sums[at], keep, all);
			memcpy(&second, &first, sizeof(second));
			memset(&first, 0xff, sizeof(first));
			for (size_t at = cut; at < n; at++)
				winnow_add(&second, sequence->sums[at], keep, all);
			winnow_break(&second, 0, keep, all);

			assert_same(all, expected);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/winnow/equal-stretches-share-an-anchor",
			test_equal_stretches_share_an_anchor);
	g_test_add_func("/winnow/what-is-kept-is-what-the-contract-names",
			test_what_is_kept_is_what_the_contract_names);
	g_test_add_func("/winnow/no-position-is-kept-twice", test_no_position_is_kept_twice);
	g_test_add_func("/winnow/random-data-keeps-two-of-w-plus-1",
			test_random_data_keeps_two_of_w_plus_1);
	g_test_add_func("/winnow/constant-data-keep-one-of-w", test_constant_data_keep_one_of_w);
	g_test_add_func("/winnow/periodic-data-keep-less-than-random",
			test_periodic_data_keep_less_than_random);
	g_test_add_func("/winnow/a-break-ends-a-stretch", test_a_break_ends_a_stretch);
	g_test_add_func("/winnow/a-short-stretch-keeps-its-smallest",
			test_a_short_stretch_keeps_its_smallest);
	g_test_add_func("/winnow/less-than-an-anchor-keeps-nothing",
			test_less_than_an_anchor_keeps_nothing);
	g_test_add_func("/winnow/equal-windows-have-one-digest-whatever-came-before",
			test_equal_windows_have_one_digest_whatever_came_before);
	g_test_add_func("/winnow/a-copy-goes-on-as-the-original-would",
			test_a_copy_goes_on_as_the_original_would);

	return g_test_run();
}
