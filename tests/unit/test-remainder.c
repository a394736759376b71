/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/remainder.h"

#include "tests/unit/fake-cover.h"

#include <string.h>

#define BLOCK  FAKE_COVER_BLOCK_BYTES
#define BLOCKS 64
#define KIB    UINT64_C(1024)

#define CRC32C_OF_ZEROS 0x98f94189 /* of a block */

/* The remainder of an extent of 64 blocks. */
typedef struct {
	FakeCover *fake;
	GArray *pieces;
} Fixture;

static Fixture *fixture_new(void)
{
	Fixture *fixture = g_new0(Fixture, 1);

	fixture->fake = fake_cover_new(BLOCKS);
	fixture->pieces = g_array_new(false, false, sizeof(RemainderPiece));
	return fixture;
}

static void fixture_free(Fixture *fixture)
{
	fake_cover_free(fixture->fake);
	g_array_unref(fixture->pieces);
	g_free(fixture);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fixture, fixture_free)

/* A reference that shows @length bytes from @position on; its file has @in_file bytes from there. */
static ExtentRef place(uint64_t position, uint64_t length, uint64_t in_file)
{
	return (ExtentRef){ .root = 5,
			    .inode = 257,
			    .offset = 100 * BLOCK,
			    .position = position,
			    .length = length,
			    .size_bytes = 100 * BLOCK + in_file };
}

static ExtentRef blocks(uint64_t first, uint64_t end)
{
	return place(first * BLOCK, (end - first) * BLOCK, UINT64_C(1) << 40);
}

static void assert_piece(const Fixture *fixture, guint i, uint64_t position, uint64_t length,
			 uint64_t offset)
{
	const RemainderPiece *piece = &g_array_index(fixture->pieces, RemainderPiece, i);

	g_assert_cmpuint(i, <, fixture->pieces->len);
	g_assert_cmpuint(piece->position, ==, position);
	g_assert_cmpuint(piece->length, ==, length);
	g_assert_cmpuint(piece->offset, ==, offset);
}

static bool lay(Fixture *fixture, const ExtentRef *refs, size_t n)
{
	return remainder_lay(fixture->fake->cover, refs, n, BLOCK, 0, fixture->pieces);
}

static void test_what_is_shown_and_not_covered_is_the_rest(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	const ExtentRef refs[] = { blocks(0, 20), blocks(40, 64) };

	fake_cover_add(fixture->fake, 2, 10);
	fake_cover_add(fixture->fake, 12, 50);
	fake_cover_add(fixture->fake, 51, 60);
	g_assert_true(lay(fixture, refs, G_N_ELEMENTS(refs)));
	g_assert_cmpuint(fixture->pieces->len, ==, 4);
	assert_piece(fixture, 0, 0, 2 * BLOCK, BLOCK);
	assert_piece(fixture, 1, 10 * BLOCK, 2 * BLOCK, 3 * BLOCK);
	assert_piece(fixture, 2, 50 * BLOCK, BLOCK, 5 * BLOCK);
	assert_piece(fixture, 3, 60 * BLOCK, 4 * BLOCK, 6 * BLOCK);
	g_assert_cmpuint(remainder_bytes(fixture->pieces), ==, 9 * BLOCK);
}

static void test_what_no_place_shows_is_no_part_of_it(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	const ExtentRef refs[] = { blocks(30, 40) };

	fake_cover_add(fixture->fake, 32, 64);
	g_assert_true(lay(fixture, refs, G_N_ELEMENTS(refs)));
	g_assert_cmpuint(fixture->pieces->len, ==, 1);
	assert_piece(fixture, 0, 30 * BLOCK, 2 * BLOCK, BLOCK);
}

static void test_what_several_places_show_is_copied_once(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	const ExtentRef refs[] = { blocks(8, 16), blocks(0, 10), blocks(8, 12), blocks(20, 22) };

	g_assert_true(lay(fixture, refs, G_N_ELEMENTS(refs)));
	g_assert_cmpuint(fixture->pieces->len, ==, 2);
	assert_piece(fixture, 0, 0, 16 * BLOCK, BLOCK);
	assert_piece(fixture, 1, 20 * BLOCK, 2 * BLOCK, 17 * BLOCK);
}

static void test_a_block_that_a_file_ends_in_ends_the_copy(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	const ExtentRef refs[] = { place(0, 11 * BLOCK, 10 * BLOCK + 100), blocks(20, 30) };

	fake_cover_add(fixture->fake, 0, 9);
	g_assert_true(lay(fixture, refs, G_N_ELEMENTS(refs)));
	g_assert_cmpuint(fixture->pieces->len, ==, 2);
	assert_piece(fixture, 0, 20 * BLOCK, 10 * BLOCK, BLOCK);
	assert_piece(fixture, 1, 9 * BLOCK, BLOCK + 100, 11 * BLOCK);
}

static void test_what_lies_behind_the_end_of_one_file_is_a_piece_of_its_own(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	const ExtentRef refs[] = { place(0, 5 * BLOCK, 4 * BLOCK + 1), blocks(5, 8) };

	g_assert_true(lay(fixture, refs, G_N_ELEMENTS(refs)));
	g_assert_cmpuint(fixture->pieces->len, ==, 2);
	assert_piece(fixture, 0, 5 * BLOCK, 3 * BLOCK, BLOCK);
	assert_piece(fixture, 1, 0, 4 * BLOCK + 1, 4 * BLOCK);
}

static void test_equal_ends_are_one(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	const ExtentRef refs[] = { place(0, 3 * BLOCK, 2 * BLOCK + 7),
				   place(BLOCK, 2 * BLOCK, BLOCK + 7) };

	g_assert_true(lay(fixture, refs, G_N_ELEMENTS(refs)));
	g_assert_cmpuint(fixture->pieces->len, ==, 1);
	assert_piece(fixture, 0, 0, 2 * BLOCK + 7, BLOCK);
}

static void test_different_ends_cannot_be_copied(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	const ExtentRef several[] = { place(0, 3 * BLOCK, 2 * BLOCK + 7),
				      place(0, 3 * BLOCK, 2 * BLOCK + 8) };
	const ExtentRef apart[] = { place(0, 3 * BLOCK, 2 * BLOCK + 7),
				    place(0, 5 * BLOCK, 4 * BLOCK + 7) };
	const ExtentRef inside[] = { place(0, 3 * BLOCK, 2 * BLOCK + 7), blocks(2, 3) };

	g_assert_false(lay(fixture, several, G_N_ELEMENTS(several)));
	g_assert_false(lay(fixture, apart, G_N_ELEMENTS(apart)));
	g_assert_false(lay(fixture, inside, G_N_ELEMENTS(inside)));

	/* Covered blocks do not matter. */
	fake_cover_add(fixture->fake, 2, 3);
	g_assert_true(lay(fixture, inside, G_N_ELEMENTS(inside)));
	g_assert_true(lay(fixture, several, G_N_ELEMENTS(several)));
}

static void test_a_piece_is_found_by_any_of_its_bytes(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	const ExtentRef refs[] = { blocks(2, 4), blocks(8, 9) };

	g_assert_true(lay(fixture, refs, G_N_ELEMENTS(refs)));
	g_assert_cmpuint(remainder_find(fixture->pieces, 2 * BLOCK)->position, ==, 2 * BLOCK);
	g_assert_cmpuint(remainder_find(fixture->pieces, 4 * BLOCK - 1)->position, ==, 2 * BLOCK);
	g_assert_cmpuint(remainder_find(fixture->pieces, 8 * BLOCK + 1)->position, ==, 8 * BLOCK);
	g_assert_null(remainder_find(fixture->pieces, 3000 * BLOCK));
}

/* Blocks with these letters, of which '0' is zeros, laid out with repeats of at least 3 blocks. */
static Fixture *lay_letters(const char *letters, const ExtentRef *refs, size_t n)
{
	static uint32_t sums[FAKE_COVER_SUMS_MAX];
	Fixture *fixture = g_new0(Fixture, 1);

	for (size_t i = 0; letters[i]; i++)
		sums[i] = letters[i] == '0' ? CRC32C_OF_ZEROS : (uint32_t)letters[i];
	fixture->fake = fake_cover_new_with_sums(sums, strlen(letters));
	fixture->pieces = g_array_new(false, false, sizeof(RemainderPiece));
	g_assert_true(remainder_lay(fixture->fake->cover, refs, n, BLOCK, 3, fixture->pieces));
	return fixture;
}

static void assert_repeats(const Fixture *fixture, const char *expected)
{
	g_autoptr(GString) found = g_string_new(NULL);

	for (guint i = 0; i < fixture->pieces->len; i++) {
		const RemainderPiece *piece = &g_array_index(fixture->pieces, RemainderPiece, i);

		g_string_append_printf(found, "%s%s%d+%d@%d", i ? " " : "",
				       piece->is_repeat ? "=" : "", (int)(piece->position / BLOCK),
				       (int)((piece->length + BLOCK - 1) / BLOCK),
				       (int)(piece->offset / BLOCK));
	}
	g_assert_cmpstr(found->str, ==, expected);
}

static void test_what_repeats_is_copied_once(void)
{
	const ExtentRef all[] = { blocks(0, 13) };
	const ExtentRef some[] = { blocks(0, 4), blocks(6, 13) };
	g_autoptr(Fixture) fixture = lay_letters("abcdxbcdyabcd", all, 1);
	g_autoptr(Fixture) pieces = lay_letters("abcdxbcdyabcd", some, 2);

	assert_repeats(fixture, "0+5@1 =5+3@2 8+1@6 =9+4@1");
	g_assert_cmpuint(remainder_bytes(fixture->pieces), ==, 6 * BLOCK);
	g_assert_cmpuint(remainder_find(fixture->pieces, 10 * BLOCK)->offset, ==, BLOCK);
	/* Too few blocks are left of the first repetition. */
	assert_repeats(pieces, "0+4@1 6+3@5 =9+4@1");
}

static void test_a_pattern_repeats_what_was_copied_of_it(void)
{
	const ExtentRef all[] = { blocks(0, 11) };
	g_autoptr(Fixture) fixture = lay_letters("fffffffffff", all, 1);

	assert_repeats(fixture, "0+3@1 =3+3@1 =6+3@1 9+2@4");
}

static void test_zeros_do_not_repeat(void)
{
	const ExtentRef all[] = { blocks(0, 12) };
	g_autoptr(Fixture) zeros = lay_letters("ab0000ab0000", all, 1);
	g_autoptr(Fixture) beside = lay_letters("abcd0abc0abc", all, 1);

	assert_repeats(zeros, "0+12@1");
	assert_repeats(beside, "0+5@1 =5+3@1 8+1@6 =9+3@1");
}

static void test_a_last_piece_of_what_repeats_stays_last(void)
{
	const ExtentRef refs[] = { place(0, 8 * BLOCK, 7 * BLOCK + 100), blocks(10, 14) };
	g_autoptr(Fixture) fixture = lay_letters("abcdabcezzabcd", refs, 2);

	/* The end is copied behind what lies after it. */
	assert_repeats(fixture, "=0+4@1 =4+3@1 10+4@1 7+1@5");
	g_assert_cmpuint(remainder_bytes(fixture->pieces), ==, 4 * BLOCK + 100);
	g_assert_cmpuint(remainder_find(fixture->pieces, 7 * BLOCK + 1)->offset, ==, 5 * BLOCK);
	g_assert_cmpuint(remainder_find(fixture->pieces, 11 * BLOCK)->offset, ==, BLOCK);
}

static void test_it_is_worth_it_if_it_is_little(void)
{
	static const RemainderAccount none = { 0, 0 };
	static const struct {
		uint64_t rest, freed;
		bool is_worth;
	} cases[] = {
		{ 4 * KIB, 20 * KIB, true },     { 4 * KIB, 19 * KIB, false },
		{ 64 * KIB, 256 * KIB, true },   { 65 * KIB, 256 * KIB, false },
		{ 32 << 20, 128 << 20, true },   { 33 << 20, 128 << 20, false },
		{ 128 << 20, 128 << 20, false }, { 0, 16 * KIB, true },
		{ 0, 16 * KIB - 1, false },      { 8 * KIB, 4 * KIB, false },
		{ UINT64_MAX / 16, 128, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(remainder_is_worth(&none, cases[i].rest, cases[i].freed), ==,
				cases[i].is_worth);
}

static void test_up_to_half_is_worth_it_as_long_as_the_pass_writes_little(void)
{
	static const struct {
		RemainderAccount pass;
		uint64_t rest, freed;
		bool is_worth;
	} cases[] = {
		/* Freed and written so far, the remainder, and the extent. */
		{ { 1 << 20, 0 }, 16 * KIB, 48 * KIB, true },
		{ { 1 << 20, 0 }, 16 * KIB, 32 * KIB, true },
		{ { 1 << 20, 0 }, 15 * KIB, 30 * KIB, false },
		{ { 1 << 20, 0 }, 16 * KIB + 1, 32 * KIB + 1, false },
		{ { 32 * KIB, 0 }, 16 * KIB, 48 * KIB, true },
		{ { 32 * KIB - 1, 0 }, 16 * KIB, 48 * KIB, false },
		{ { 1 << 20, 200 * KIB }, 16 * KIB, 56 * KIB, true },
		{ { 1 << 20, 201 * KIB }, 16 * KIB, 56 * KIB, false },
		{ { 1 << 20, 201 * KIB }, 16 * KIB, 64 * KIB, true },
		{ { 1 << 20, 1 << 20 }, 16 * KIB, 64 * KIB, true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(remainder_is_worth(&cases[i].pass, cases[i].rest, cases[i].freed),
				==, cases[i].is_worth);
}

static void test_a_pass_that_writes_more_frees_an_eighth_of_each(void)
{
	static const RemainderAccount more = { .written_bytes = 1 << 30, .writes_more = true };

	g_assert_true(remainder_is_worth(&more, 7 << 20, 8 << 20));
	g_assert_false(remainder_is_worth(&more, (7 << 20) + 1, 8 << 20));
	g_assert_true(remainder_is_worth(&more, 48 * KIB, 64 * KIB));
	g_assert_false(remainder_is_worth(&more, 49 * KIB, 64 * KIB));
	g_assert_false(remainder_is_worth(&more, 8 * KIB, 4 * KIB));
}

static void test_what_is_claimed_can_be_given_back(void)
{
	RemainderAccount account = { .held_most_bytes = 64 * KIB, .held_room_bytes = 64 * KIB };
	RemainderClaim one = remainder_account_claim(&account, 256 * KIB, 48 * KIB, true);
	/* It was planned while there was more room. */
	RemainderClaim two = remainder_account_claim(&account, 128 * KIB, 32 * KIB, true);
	RemainderClaim three = remainder_account_claim(&account, 64 * KIB, 8 * KIB, false);

	g_assert_cmpuint(account.freed_bytes, ==, 448 * KIB);
	g_assert_cmpuint(account.written_bytes, ==, 88 * KIB);
	g_assert_cmpuint(account.held_room_bytes, ==, 0);

	remainder_account_give_back(&account, &two);
	g_assert_cmpuint(account.held_room_bytes, ==, 16 * KIB);
	remainder_account_give_back(&account, &two);
	remainder_account_give_back(&account, &three);
	remainder_account_give_back(&account, &one);
	g_assert_cmpuint(account.freed_bytes, ==, 0);
	g_assert_cmpuint(account.written_bytes, ==, 0);
	g_assert_cmpuint(account.held_room_bytes, ==, account.held_most_bytes);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/extent-rest/what-is-shown-and-not-covered-is-the-rest",
			test_what_is_shown_and_not_covered_is_the_rest);
	g_test_add_func("/extent-rest/what-no-place-shows-is-no-part-of-it",
			test_what_no_place_shows_is_no_part_of_it);
	g_test_add_func("/extent-rest/what-several-places-show-is-copied-once",
			test_what_several_places_show_is_copied_once);
	g_test_add_func("/extent-rest/a-block-that-a-file-ends-in-ends-the-copy",
			test_a_block_that_a_file_ends_in_ends_the_copy);
	g_test_add_func("/extent-rest/what-lies-behind-the-end-of-one-file-is-a-piece-of-its-own",
			test_what_lies_behind_the_end_of_one_file_is_a_piece_of_its_own);
	g_test_add_func("/extent-rest/equal-ends-are-one", test_equal_ends_are_one);
	g_test_add_func("/extent-rest/different-ends-cannot-be-copied",
			test_different_ends_cannot_be_copied);
	g_test_add_func("/extent-rest/a-piece-is-found-by-any-of-its-bytes",
			test_a_piece_is_found_by_any_of_its_bytes);
	g_test_add_func("/extent-rest/what-repeats-is-copied-once",
			test_what_repeats_is_copied_once);
	g_test_add_func("/extent-rest/a-pattern-repeats-what-was-copied-of-it",
			test_a_pattern_repeats_what_was_copied_of_it);
	g_test_add_func("/extent-rest/zeros-do-not-repeat", test_zeros_do_not_repeat);
	g_test_add_func("/extent-rest/a-last-piece-of-what-repeats-stays-last",
			test_a_last_piece_of_what_repeats_stays_last);
	g_test_add_func("/extent-rest/it-is-worth-it-if-it-is-little",
			test_it_is_worth_it_if_it_is_little);
	g_test_add_func("/extent-rest/up-to-half-is-worth-it-as-long-as-the-pass-writes-little",
			test_up_to_half_is_worth_it_as_long_as_the_pass_writes_little);
	g_test_add_func("/extent-rest/a-pass-that-writes-more-frees-an-eighth-of-each",
			test_a_pass_that_writes_more_frees_an_eighth_of_each);
	g_test_add_func("/extent-rest/what-is-claimed-can-be-given-back",
			test_what_is_claimed_can_be_given_back);
	return g_test_run();
}
