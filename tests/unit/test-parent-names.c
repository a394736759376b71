/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/parent-names.h"

#include "tests/unit/fake-xfs.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#define TOP        128
#define FILE_INODE 131

/* The kernel knows the top directory, and these names of the file. */
static void kernel_set(const FakeXfsName *names, size_t n_names)
{
	static const XfsAbiInode top[] = { { .inode = TOP, .generation = 1, .nlink = 2 } };

	*fake_xfs() = (FakeXfs){
		.inodes = top, .n_inodes = 1, .names = names, .n_names = n_names, .top = TOP
	};
}

static ParentNames *names_new(const FakeXfsName *names, size_t n_names)
{
	ParentNames *found;

	kernel_set(names, n_names);
	found = parent_names_new(FAKE_XFS_FD, TOP);
	g_assert_nonnull(found);
	return found;
}

static bool has_lower_hash(const char *one, const char *other)
{
	return XXH3_64bits(one, strlen(one)) < XXH3_64bits(other, strlen(other));
}

static void assert_finds(ParentNames *names, uint64_t inode, uint64_t expected_parent,
			 const char *expected)
{
	const char *name;
	uint64_t parent;

	g_assert_true(parent_names_find(names, inode, 1, &parent, &name));
	g_assert_cmpstr(name, ==, expected);
	g_assert_cmpuint(parent, ==, expected_parent);
}

/* Whatever the order in which the kernel returns the names. */
static void test_the_name_is_that_in_the_lowest_directory_with_the_lowest_hash(void)
{
	static const char *const texts[] = { "a", "b", "c" };

	/* A name has one of nine places: each of three directories with each of three texts. */
	for (unsigned i = 0; i < 9; i++) {
		for (unsigned j = 0; j < 9; j++) {
			for (unsigned k = 0; k < 9; k++) {
				const FakeXfsName all[] = {
					{ FILE_INODE, 200 + i / 3, texts[i % 3] },
					{ FILE_INODE, 200 + j / 3, texts[j % 3] },
					{ FILE_INODE + 1, 199, "a" },
					{ FILE_INODE, 200 + k / 3, texts[k % 3] },
				};
				g_autoptr(ParentNames) names = names_new(all, G_N_ELEMENTS(all));
				const FakeXfsName *best = &all[0];

				for (size_t n = 1; n < G_N_ELEMENTS(all); n++)
					if (all[n].inode == FILE_INODE &&
					    (all[n].parent < best->parent ||
					     (all[n].parent == best->parent &&
					      has_lower_hash(all[n].name, best->name))))
						best = &all[n];
				assert_finds(names, FILE_INODE, best->parent, best->name);
			}
		}
	}
}

/* A lower directory of one inode is no reason to refuse the name of the next one. */
static void test_each_inode_has_its_own_name(void)
{
	static const FakeXfsName all[] = {
		{ FILE_INODE, TOP, "one" },
		{ FILE_INODE + 1, 900, "two" },
	};
	g_autoptr(ParentNames) names = names_new(all, G_N_ELEMENTS(all));

	assert_finds(names, FILE_INODE, TOP, "one");
	assert_finds(names, FILE_INODE + 1, 900, "two");
	assert_finds(names, FILE_INODE, TOP, "one");
}

static void test_what_is_gone_has_no_name(void)
{
	static const FakeXfsName all[] = { { FILE_INODE, TOP, "one" } };
	g_autoptr(ParentNames) names = names_new(all, G_N_ELEMENTS(all));
	const char *name;
	uint64_t parent;

	assert_finds(names, FILE_INODE, TOP, "one");
	g_assert_false(parent_names_find(names, FILE_INODE + 1, 1, &parent, &name));
	fake_xfs()->error = ESTALE;
	g_assert_false(parent_names_find(names, FILE_INODE, 1, &parent, &name));
}

static void test_without_parent_pointers_there_are_no_names(void)
{
	kernel_set(NULL, 0);
	g_assert_null(parent_names_new(FAKE_XFS_FD, TOP + 1));
	fake_xfs()->error = EOPNOTSUPP;
	g_assert_null(parent_names_new(FAKE_XFS_FD, TOP));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add_func("/parent-names/" name, test)
	ADD("the-name-is-that-in-the-lowest-directory-with-the-lowest-hash",
	    test_the_name_is_that_in_the_lowest_directory_with_the_lowest_hash);
	ADD("each-inode-has-its-own-name", test_each_inode_has_its_own_name);
	ADD("what-is-gone-has-no-name", test_what_is_gone_has_no_name);
	ADD("without-parent-pointers-there-are-no-names",
	    test_without_parent_pointers_there_are_no_names);

	return g_test_run();
}
