/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/clone-choice.h"

#include <glib.h>

#define MEMORY (1 << 20)
#define MOST   32
#define LONG   1000

static GArray *new_list(void)
{
	return g_array_new(false, false, sizeof(CloneRef));
}

static const CloneRef *ref_of(const CloneRefSet *set, guint i)
{
	return &g_array_index(set->refs, CloneRef, i);
}

/* Two stretches of the disk: at 1000, and at 100000. */
static CloneRefs *refs_to_two(void)
{
	CloneRefs *refs = clone_refs_new(MEMORY, MOST);

	g_assert_true(clone_refs_want(refs, 1000, 1000 + LONG));
	g_assert_true(clone_refs_want(refs, 100000, 100000 + LONG));
	clone_refs_begin(refs);
	return refs;
}

static void test_references_are_found_from_any_block_on(void)
{
	g_autoptr(CloneRefs) refs = refs_to_two();
	g_autoptr(GArray) found = new_list();
	CloneRefSet set = { .refs = found };

	g_assert_true(clone_refs_add(refs, 2, 50, 1000, LONG));
	g_assert_true(clone_refs_add(refs, 1, 0, 900, 300));
	g_assert_true(clone_refs_add(refs, 3, 0, 5000, 300));
	clone_refs_end(refs);

	clone_refs_at(refs, 1100, LONG, &set);
	g_assert_cmpuint(set.n, ==, 2);
	g_assert_cmpuint(set.blocks, ==, 100);
	g_assert_cmpuint(ref_of(&set, 0)->object + ref_of(&set, 1)->object, ==, 3);
	for (size_t i = 0; i < 2; i++)
		g_assert_cmpuint(ref_of(&set, i)->block, ==,
				 ref_of(&set, i)->object == 1 ? 200 : 150);

	/* Behind the end of the shorter one, over many chunks. */
	clone_refs_at(refs, 1200, LONG, &set);
	g_assert_cmpuint(set.n, ==, 1);
	g_assert_cmpuint(set.blocks, ==, 800);
	g_assert_cmpuint(ref_of(&set, 0)->block, ==, 250);
	g_assert_cmpuint(ref_of(&set, 0)->blocks, ==, 800);

	clone_refs_at(refs, 1200, 7, &set);
	g_assert_cmpuint(set.blocks, ==, 7);
	clone_refs_at(refs, 100000, 10, &set);
	g_assert_cmpuint(set.n, ==, 0);
	g_assert_cmpuint(set.blocks, ==, 10);
}

static void test_a_reference_that_begins_later_ends_the_set(void)
{
	g_autoptr(CloneRefs) refs = refs_to_two();
	g_autoptr(GArray) found = new_list();
	CloneRefSet set = { .refs = found };

	g_assert_true(clone_refs_add(refs, 1, 0, 1000, 100));
	g_assert_true(clone_refs_add(refs, 2, 0, 1010, 1));
	clone_refs_end(refs);

	clone_refs_at(refs, 1000, LONG, &set);
	g_assert_cmpuint(set.n, ==, 1);
	g_assert_cmpuint(set.blocks, ==, 10);
	clone_refs_at(refs, 1010, LONG, &set);
	g_assert_cmpuint(set.n, ==, 2);
	g_assert_cmpuint(set.blocks, ==, 1);
}

static void test_more_references_than_are_of_use_take_no_room(void)
{
	g_autoptr(CloneRefs) refs = refs_to_two();
	g_autoptr(GArray) found = new_list();
	CloneRefSet set = { .refs = found };

	for (uint32_t i = 0; i < 1000000; i++)
		g_assert_true(clone_refs_add(refs, i, i, 1000, LONG));
	g_assert_true(clone_refs_add(refs, 5, 0, 100000, LONG));
	clone_refs_end(refs);

	clone_refs_at(refs, 1000, LONG, &set);
	g_assert_cmpuint(set.n, ==, MOST + 1);
	g_assert_cmpuint(set.blocks, >, 0);
	clone_refs_at(refs, 100000, LONG, &set);
	g_assert_cmpuint(set.n, ==, 1);
}

static void test_memory_is_bounded(void)
{
	g_autoptr(CloneRefs) refs = clone_refs_new(MEMORY, MOST);
	uint64_t n = 0;

	while (clone_refs_want(refs, n * 1000, n * 1000 + 1))
		n++;
	g_assert_cmpuint(n, >, 1000);
	g_assert_cmpuint(n, <, MEMORY / 16);
	/* Ranges that overlap are one. */
	g_clear_pointer(&refs, clone_refs_free);
	refs = clone_refs_new(MEMORY, MOST);
	for (n = 0; n < MEMORY; n++)
		g_assert_true(clone_refs_want(refs, 1000 + n % 10, 1020));
}

/* A pair of 10 blocks, with so many references to either side. */
typedef struct {
	uint32_t targets;
	uint32_t sources; /* 0: not shared */
	bool is_hole;
	bool target_is_kept, source_is_kept, target_is_moved, locked_target;
} Case;

#define TARGET_PLACE 1000
#define SOURCE_PLACE 100000
#define LOCKED       99

static bool is_not_locked(uint32_t object, void *data)
{
	(void)data;
	return object != LOCKED;
}

static CloneChoice choose(const Case *one)
{
	g_autoptr(CloneRefs) refs = refs_to_two();
	g_autoptr(BlockSet) moved = block_set_new();
	g_autoptr(BlockSet) kept = block_set_new();
	g_autoptr(GArray) target_refs = new_list();
	g_autoptr(GArray) source_refs = new_list();
	CloneChooser chooser = { refs, moved, kept, is_not_locked, NULL, target_refs, source_refs };
	ClonePair pair = {
		.target_place = TARGET_PLACE,
		.source_place = one->is_hole ? CLONE_PLACE_HOLE : SOURCE_PLACE,
		.blocks = 10,
		.target = 1,
		.source = one->is_hole ? 0 : 50,
		.source_is_shared = one->sources > 0,
	};
	CloneChoice choice;

	for (uint32_t i = 0; i < one->targets; i++)
		g_assert_true(clone_refs_add(refs, one->locked_target && i == 1 ? LOCKED : 1 + i, 0,
					     TARGET_PLACE, 10));
	for (uint32_t i = 0; i < one->sources; i++)
		g_assert_true(clone_refs_add(refs, 50 + i, 0, SOURCE_PLACE, 10));
	clone_refs_end(refs);
	if (one->target_is_kept)
		block_set_add(kept, TARGET_PLACE, TARGET_PLACE + 10);
	if (one->source_is_kept)
		block_set_add(kept, SOURCE_PLACE, SOURCE_PLACE + 10);
	if (one->target_is_moved)
		block_set_add(moved, TARGET_PLACE + 4, TARGET_PLACE + 10);

	clone_choose(&chooser, &pair, 0, &choice);
	choice.targets = NULL;
	return choice;
}

static void test_the_side_with_fewer_references_is_freed(void)
{
	static const struct {
		Case in;
		uint64_t freed; /* place; 0: none can be */
		size_t n;
	} cases[] = {
		{ { .targets = 2 }, SOURCE_PLACE, 1 },
		{ { .targets = 2, .sources = 3 }, TARGET_PLACE, 2 },
		{ { .targets = 3, .sources = 2 }, SOURCE_PLACE, 2 },
		{ { .targets = 3, .sources = 3 }, TARGET_PLACE, 3 },
		{ { .targets = 2, .is_hole = true }, TARGET_PLACE, 2 },
		/* A shared block has more references than the one that is known. */
		{ { .targets = 1, .sources = 3 }, SOURCE_PLACE, 3 },
		{ { .targets = 1, .sources = 1 }, 0, 0 },
		{ { .targets = 33, .sources = 40 }, 0, 0 },
		{ { .targets = 33, .sources = 32 }, SOURCE_PLACE, 32 },
		/* A former source has more references than were counted. */
		{ { .targets = 2, .sources = 3, .target_is_kept = true }, SOURCE_PLACE, 3 },
		{ { .targets = 3, .source_is_kept = true }, TARGET_PLACE, 3 },
		{ { .targets = 3, .target_is_kept = true, .source_is_kept = true }, 0, 0 },
		/* One reference that must stay makes the others worthless. */
		{ { .targets = 2, .sources = 5, .locked_target = true }, SOURCE_PLACE, 5 },
		{ { .targets = 2, .is_hole = true, .locked_target = true }, 0, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		CloneChoice choice = choose(&cases[i].in);
		uint64_t other = cases[i].in.is_hole              ? CLONE_PLACE_HOLE
				 : cases[i].freed == TARGET_PLACE ? SOURCE_PLACE
								  : TARGET_PLACE;

		g_assert_false(choice.is_void);
		g_assert_cmpuint(choice.blocks, ==, 10);
		if (cases[i].freed == 0) {
			g_assert_cmpuint(choice.n_targets, >, MOST);
			continue;
		}
		g_assert_cmpuint(choice.target_place, ==, cases[i].freed);
		g_assert_cmpuint(choice.source_place, ==, other);
		g_assert_cmpuint(choice.n_targets, ==, cases[i].n);
	}
}

static void test_what_was_freed_is_no_part_of_a_choice(void)
{
	Case one = { .targets = 2, .target_is_moved = true };
	CloneChoice choice = choose(&one);

	g_assert_false(choice.is_void);
	g_assert_cmpuint(choice.blocks, ==, 4);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clone-refs/references-are-found-from-any-block-on",
			test_references_are_found_from_any_block_on);
	g_test_add_func("/clone-refs/a-reference-that-begins-later-ends-the-set",
			test_a_reference_that_begins_later_ends_the_set);
	g_test_add_func("/clone-refs/more-references-than-are-of-use-take-no-room",
			test_more_references_than_are_of_use_take_no_room);
	g_test_add_func("/clone-refs/memory-is-bounded", test_memory_is_bounded);
	g_test_add_func("/clone-choice/the-side-with-fewer-references-is-freed",
			test_the_side_with_fewer_references_is_freed);
	g_test_add_func("/clone-choice/what-was-freed-is-no-part-of-a-choice",
			test_what_was_freed_is_no_part_of_a_choice);
	return g_test_run();
}
