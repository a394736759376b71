/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-names.h"

#include "tests/unit/fake-btrfs.h"

#include <errno.h>
#include <string.h>

#define HOME 257 /* a subvolume in the directory 300 of the top level */

#define PLAIN(name)                                                                                \
	"\x02\0\0\0\0\0\0\0" /* index */                                                           \
		name
#define EXTENDED(directory, name) directory "\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0" name
#define ITEM(tree, inode, type, offset, text)                                                      \
	{                                                                                          \
		tree, { inode, type, offset }, text, sizeof(text) - 1, 1                           \
	}
#define REF(tree, inode, directory, text) ITEM(tree, inode, BTRFS_INODE_REF_KEY, directory, text)

/* Names are preceded by their length. */
static const FakeItem items[] = {
	/* The subvolume's place: directory, index, name. */
	ITEM(1, HOME, BTRFS_ROOT_BACKREF_KEY, 5, "\x2c\x01\0\0\0\0\0\0" PLAIN("\x04\0home")),
	REF(5, 300, 256, PLAIN("\x05\0users")),
	REF(HOME, 256, 256, PLAIN("\x02\0..")),
	ITEM(HOME, 260, BTRFS_INODE_ITEM_KEY, 0, "an inode"),
	REF(HOME, 260, 256,
	    PLAIN("\x01\0"
		  "a") PLAIN("\x02\0\xff\n")),
	REF(HOME, 260, 261,
	    PLAIN("\x01\0"
		  "c")),
	ITEM(HOME, 260, BTRFS_INODE_EXTREF_KEY, 1234,
	     EXTENDED("\x05", "\x01\0"
			      "d") EXTENDED("\x06", "\x01\0"
						    "e")),
	ITEM(HOME, 260, BTRFS_XATTR_ITEM_KEY, 1, "an attribute"),
	REF(HOME, 261, 256,
	    PLAIN("\x03\0"
		  "sub")),
	ITEM(HOME, 262, BTRFS_INODE_ITEM_KEY, 0, "deleted, and open"),
	REF(HOME, 263, 256,
	    PLAIN("\x09\0"
		  "cut")),
	REF(HOME, 264, 256, ""),
	REF(HOME, 265, 256,
	    PLAIN("\x01\0"
		  "\xfe")),
	ITEM(1, 258, BTRFS_ROOT_BACKREF_KEY, 5, "cut"),
};

static void kernel_set(void)
{
	*fake_btrfs() = (FakeBtrfs){ .items = items, .n_items = G_N_ELEMENTS(items) };
}

static const BtrfsName *next(BtrfsNames *names)
{
	g_autoptr(GError) error = NULL;
	const BtrfsName *name;

	g_assert_true(btrfs_names_next(names, &name, &error));
	g_assert_no_error(error);
	return name;
}

static const BtrfsName *above(BtrfsNames *names, uint64_t root, uint64_t inode)
{
	g_autoptr(GError) error = NULL;
	const BtrfsName *name;

	g_assert_true(btrfs_names_of_directory(names, root, inode, &name, &error));
	g_assert_no_error(error);
	return name;
}

static void assert_name(const BtrfsName *name, uint64_t root, uint64_t directory, const char *text)
{
	g_assert_nonnull(name);
	g_assert_cmpuint(name->root, ==, root);
	g_assert_cmpuint(name->directory, ==, directory);
	g_assert_cmpstr(name->name, ==, text);
}

static void test_every_name_of_a_file_is_given_out(void)
{
	g_autoptr(BtrfsNames) names = btrfs_names_new(FAKE_BTRFS_FD);

	kernel_set();
	for (int i = 0; i < 2; i++) {
		btrfs_names_start(names, HOME, 260);
		assert_name(next(names), HOME, 256, "a");
		assert_name(next(names), HOME, 256, "\xff\n");
		assert_name(next(names), HOME, 261, "c");
		assert_name(next(names), HOME, 5, "d");
		assert_name(next(names), HOME, 6, "e");
		g_assert_null(next(names));
	}
}

static void test_what_is_deleted_has_no_name(void)
{
	g_autoptr(BtrfsNames) names = btrfs_names_new(FAKE_BTRFS_FD);

	kernel_set();
	btrfs_names_start(names, HOME, 262);
	g_assert_null(next(names));
	btrfs_names_start(names, HOME, 1000);
	g_assert_null(next(names));
	g_assert_null(above(names, HOME, 1000));
}

static void test_a_subvolume_that_is_gone_has_no_names(void)
{
	g_autoptr(BtrfsNames) names = btrfs_names_new(FAKE_BTRFS_FD);

	*fake_btrfs() = (FakeBtrfs){ .error = ENOENT };
	btrfs_names_start(names, 400, 260);
	g_assert_null(next(names));
	g_assert_null(above(names, 400, 256));
	g_assert_null(above(names, 400, 300));
}

static void test_a_way_leads_up_to_the_top_level(void)
{
	g_autoptr(BtrfsNames) names = btrfs_names_new(FAKE_BTRFS_FD);
	unsigned calls;

	kernel_set();
	btrfs_names_start(names, HOME, 260);
	for (int i = 0; i < 2; i++) {
		assert_name(above(names, HOME, 261), HOME, 256, "sub");
		assert_name(above(names, HOME, 256), 5, 300, "home");
		assert_name(above(names, 5, 300), 5, 256, "users");
		g_assert_null(above(names, 5, 256));
		/* The second time the answer comes from the cache. */
		if (i == 0)
			calls = fake_btrfs()->n_calls;
		g_assert_cmpuint(fake_btrfs()->n_calls, ==, calls);
	}
}

static void test_a_damaged_item_is_an_error(void)
{
	g_autoptr(BtrfsNames) names = btrfs_names_new(FAKE_BTRFS_FD);
	g_autoptr(GError) error = NULL;
	const BtrfsName *name;

	kernel_set();
	btrfs_names_start(names, HOME, 263);
	g_assert_false(btrfs_names_next(names, &name, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
	g_assert_cmpstr(error->message, ==,
			"cannot read the names of inode 263 of subvolume 257: their item is "
			"damaged");
}

static void test_a_directory_whose_item_holds_no_name_is_an_error(void)
{
	g_autoptr(BtrfsNames) names = btrfs_names_new(FAKE_BTRFS_FD);
	static const struct {
		uint64_t root, inode;
		const char *damaged; /* NULL: it has a name */
	} cases[] = {
		{ HOME, 263, "inode 263 of subvolume 257" }, /* the name is cut off */
		{ HOME, 264, "inode 264 of subvolume 257" }, /* the item is empty */
		{ HOME, 265, NULL },
		{ 258, 256, "inode 256 of subvolume 258" },
	};

	kernel_set();
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		const BtrfsName *name;

		if (!cases[i].damaged) {
			assert_name(above(names, cases[i].root, cases[i].inode), HOME, 256, "\xfe");
			continue;
		}
		g_assert_false(btrfs_names_of_directory(names, cases[i].root, cases[i].inode, &name,
							&error));
		g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_IO);
		g_assert_nonnull(strstr(error->message, cases[i].damaged));
	}
}

static void test_want_of_privilege_is_an_error(void)
{
	g_autoptr(BtrfsNames) names = btrfs_names_new(FAKE_BTRFS_FD);
	g_autoptr(GError) error = NULL;
	const BtrfsName *name;

	*fake_btrfs() = (FakeBtrfs){ .error = EPERM };
	btrfs_names_start(names, HOME, 260);
	g_assert_false(btrfs_names_next(names, &name, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM);
	g_clear_error(&error);
	g_assert_false(btrfs_names_of_directory(names, HOME, 256, &name, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-names/every-name-of-a-file-is-given-out",
			test_every_name_of_a_file_is_given_out);
	g_test_add_func("/btrfs-names/what-is-deleted-has-no-name",
			test_what_is_deleted_has_no_name);
	g_test_add_func("/btrfs-names/a-subvolume-that-is-gone-has-no-names",
			test_a_subvolume_that_is_gone_has_no_names);
	g_test_add_func("/btrfs-names/a-way-leads-up-to-the-top-level",
			test_a_way_leads_up_to_the_top_level);
	g_test_add_func("/btrfs-names/a-damaged-item-is-an-error", test_a_damaged_item_is_an_error);
	g_test_add_func("/btrfs-names/a-directory-whose-item-holds-no-name-is-an-error",
			test_a_directory_whose_item_holds_no_name_is_an_error);
	g_test_add_func("/btrfs-names/want-of-privilege-is-an-error",
			test_want_of_privilege_is_an_error);

	return g_test_run();
}
