/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/file-opener.h"

#include "hashstore/objects/names.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static uint64_t inode_at(const PassFixture *fixture, const char *path)
{
	FileStat stat;

	g_assert_cmpint(file_stat_at(fixture->scratch->fd, path, &stat), ==, 0);
	return stat.inode;
}

static void put_directory(PassFixture *fixture, uint64_t inode, uint64_t parent, const char *name)
{
	DirectoryName row = {
		.inode = inode,
		.parent = parent,
		.name = (const uint8_t *)name,
		.name_bytes = strlen(name),
	};
	g_autoptr(GError) error = NULL;

	if (!hash_store_put_directory(fixture->pass.store, &row, &error))
		g_error("%s", error->message);
}

/* Make the directory @path, whose last component is @name, and put it into the store. */
static uint64_t make_directory(PassFixture *fixture, uint64_t parent, const char *path,
			       const char *name)
{
	uint64_t inode;

	g_assert_cmpint(mkdirat(fixture->scratch->fd, path, 0755), ==, 0);
	inode = inode_at(fixture, path);
	put_directory(fixture, inode, parent, name);
	return inode;
}

static void make_file(PassFixture *fixture, const char *path)
{
	int fd = scratch_create(fixture->scratch, path, 100, 1);

	fd_close(&fd);
}

static OpenOutcome open_named(PassFixture *fixture, uint64_t parent, const char *name, int *ret_fd,
			      int *ret_errno)
{
	NamedFile file = { .parent = parent, .name = name };

	*ret_fd = -1;
	return file_opener_open(fixture->opener, &file, ret_fd, ret_errno);
}

static void assert_opens(PassFixture *fixture, uint64_t parent, const char *name, uint64_t inode)
{
	g_auto(Fd) fd = -1;
	FileStat stat;
	int failed = 1;

	g_assert_cmpint(open_named(fixture, parent, name, &fd, &failed), ==, OPEN_OPENED);
	g_assert_cmpint(failed, ==, 0);
	g_assert_cmpint(file_stat_at(fd, "", &stat), ==, 0);
	g_assert_cmpuint(stat.inode, ==, inode);
}

static void assert_refused(PassFixture *fixture, uint64_t parent, const char *name,
			   OpenOutcome outcome)
{
	g_auto(Fd) fd = -1;
	int failed;

	g_assert_cmpint(open_named(fixture, parent, name, &fd, &failed), ==, outcome);
	g_assert_cmpint(fd, ==, -1);
}

static void test_a_file_is_opened_by_the_names_above_it(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint64_t root = pass_fixture_put_root(fixture);
	uint64_t a = make_directory(fixture, root, "a", "a");
	uint64_t b = make_directory(fixture, a, "a/\xff\n", "\xff\n");

	make_file(fixture, "top");
	make_file(fixture, "a/\xff\n/leaf");
	assert_opens(fixture, b, "leaf", inode_at(fixture, "a/\xff\n/leaf"));
	assert_opens(fixture, root, "top", inode_at(fixture, "top"));
	/* Once more, with its directories open. */
	assert_opens(fixture, b, "leaf", inode_at(fixture, "a/\xff\n/leaf"));
}

static void test_what_is_gone_is_gone(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint64_t root = pass_fixture_put_root(fixture);
	uint64_t a = make_directory(fixture, root, "a", "a");
	uint64_t b = make_directory(fixture, a, "a/b", "b");

	make_file(fixture, "a/b/leaf");
	assert_refused(fixture, a, "leaf", OPEN_GONE);
	assert_refused(fixture, 999999, "leaf", OPEN_GONE);
	g_assert_cmpint(renameat(fixture->scratch->fd, "a/b", fixture->scratch->fd, "b"), ==, 0);
	assert_refused(fixture, b, "leaf", OPEN_GONE);
}

static void test_only_regular_files_are_opened(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint64_t root = pass_fixture_put_root(fixture);
	int directory = fixture->scratch->fd;

	make_directory(fixture, root, "a", "a");
	g_assert_cmpint(mkfifoat(directory, "fifo", 0644), ==, 0);
	g_assert_cmpint(symlinkat("/etc/passwd", directory, "link"), ==, 0);
	assert_refused(fixture, root, "a", OPEN_NOT_REGULAR);
	assert_refused(fixture, root, "fifo", OPEN_NOT_REGULAR);
	assert_refused(fixture, root, "link", OPEN_NOT_REGULAR);
}

static void test_a_directory_that_became_a_symlink_is_not_followed(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint64_t root = pass_fixture_put_root(fixture);
	uint64_t a = make_directory(fixture, root, "a", "a");
	int directory = fixture->scratch->fd;

	make_file(fixture, "a/leaf");
	g_assert_cmpint(renameat(directory, "a", directory, "moved"), ==, 0);
	g_assert_cmpint(symlinkat("moved", directory, "a"), ==, 0);
	assert_refused(fixture, a, "leaf", OPEN_GONE);
}

static void test_another_directory_of_the_same_name_is_not_entered(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint64_t root = pass_fixture_put_root(fixture);
	uint64_t a = make_directory(fixture, root, "a", "a");
	uint64_t b = make_directory(fixture, a, "a/b", "b");
	int directory = fixture->scratch->fd;

	make_file(fixture, "a/b/leaf");
	g_assert_cmpint(renameat(directory, "a", directory, "moved"), ==, 0);
	g_assert_cmpint(mkdirat(directory, "a", 0755), ==, 0);
	g_assert_cmpint(mkdirat(directory, "a/b", 0755), ==, 0);
	make_file(fixture, "a/b/leaf");
	assert_refused(fixture, b, "leaf", OPEN_GONE);
	assert_refused(fixture, a, "leaf", OPEN_GONE);
}

static void test_names_that_form_a_loop_come_to_an_end(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autofree char *path = NULL;

	put_directory(fixture, 1001, 1002, "a");
	put_directory(fixture, 1002, 1001, "b");
	assert_refused(fixture, 1001, "leaf", OPEN_GONE);
	path = file_opener_path(fixture->opener, 0, 1001, "leaf");
	g_assert_true(g_str_has_suffix(path, "/leaf"));
}

static void test_more_directories_than_are_kept_open_can_be_used(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint64_t root = pass_fixture_put_root(fixture);
	uint64_t inodes[150];

	for (size_t i = 0; i < G_N_ELEMENTS(inodes); i++) {
		g_autofree char *name = g_strdup_printf("d%zu", i);
		g_autofree char *leaf = g_strdup_printf("d%zu/leaf", i);

		inodes[i] = make_directory(fixture, root, name, name);
		make_file(fixture, leaf);
	}

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < G_N_ELEMENTS(inodes); i++) {
			g_autofree char *leaf = g_strdup_printf("d%zu/leaf", i);

			assert_opens(fixture, inodes[i], "leaf", inode_at(fixture, leaf));
		}
	}
}

static void test_a_deep_file_is_opened(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint64_t parent = pass_fixture_put_root(fixture);
	g_autoptr(GString) path = g_string_new("d");
	g_autofree char *leaf = NULL;
	g_autofree char *expected = NULL;
	g_autofree char *found = NULL;

	for (int depth = 0; depth < 200; depth++) {
		parent = make_directory(fixture, parent, path->str, "d");
		g_string_append(path, "/d");
	}
	g_string_truncate(path, path->len - 2);
	leaf = g_strconcat(path->str, "/leaf", NULL);
	make_file(fixture, leaf);

	assert_opens(fixture, parent, "leaf", inode_at(fixture, leaf));
	expected = g_build_filename(fixture->scratch->path, leaf, NULL);
	found = file_opener_path(fixture->opener, 0, parent, "leaf");
	g_assert_cmpstr(found, ==, expected);
}

/* The directory gets another name, so only its descriptor leads to the file. */
static void test_a_directory_in_use_stays_open(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint64_t root = pass_fixture_put_root(fixture);
	uint64_t used = make_directory(fixture, root, "used", "used");
	int directory = fixture->scratch->fd;

	make_file(fixture, "used/leaf");
	assert_opens(fixture, used, "leaf", inode_at(fixture, "used/leaf"));
	g_assert_cmpint(renameat(directory, "used", directory, "moved"), ==, 0);
	for (int i = 0; i < 150; i++) {
		g_autofree char *name = g_strdup_printf("d%d", i);
		g_autofree char *leaf = g_strdup_printf("d%d/leaf", i);
		uint64_t inode = make_directory(fixture, root, name, name);

		make_file(fixture, leaf);
		assert_opens(fixture, inode, "leaf", inode_at(fixture, leaf));
		assert_opens(fixture, used, "leaf", inode_at(fixture, "moved/leaf"));
	}
}

static void open_denied(void *data)
{
	PassFixture *fixture = data;
	uint64_t root = pass_fixture_put_root(fixture);
	uint64_t a = make_directory(fixture, root, "a", "a");
	uint64_t b = make_directory(fixture, a, "a/b", "b");

	make_file(fixture, "file");
	make_file(fixture, "a/b/leaf");
	g_assert_cmpint(fchmodat(fixture->scratch->fd, "file", 0, 0), ==, 0);
	g_assert_cmpint(fchmodat(fixture->scratch->fd, "a", 0, 0), ==, 0);
	scratch_become_nobody();
	assert_refused(fixture, root, "file", OPEN_DENIED);
	assert_refused(fixture, b, "leaf", OPEN_DENIED);
}

static void test_what_is_not_permitted_is_denied(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	scratch_run_in_child(open_denied, fixture);
	g_assert_cmpint(fchmodat(fixture->scratch->fd, "a", 0755, 0), ==, 0);
}

static void open_without_descriptors(void *data)
{
	PassFixture *fixture = data;
	struct rlimit limit;
	uint64_t root = pass_fixture_put_root(fixture);
	uint64_t a = make_directory(fixture, root, "a", "a");
	g_auto(Fd) fd = -1;
	int failed;

	make_file(fixture, "a/leaf");
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	limit.rlim_cur = 0;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	g_assert_cmpint(open_named(fixture, a, "leaf", &fd, &failed), ==, OPEN_FAILED);
	g_assert_cmpint(failed, ==, EMFILE);
}

static void test_a_file_is_not_gone_for_want_of_descriptors(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	scratch_run_in_child(open_without_descriptors, fixture);
}

static void test_paths_are_put_together_from_names(void)
{
	static const struct {
		uint64_t parent;
		const char *path;
	} cases[] = {
		{ 11, "/srv/leaf" }, { 12, "/srv/a/leaf" }, { 13, "/srv/a/\xff\n/leaf" },
		{ 21, "/leaf" },                            /* the root directory */
		{ 22, "/etc/leaf" }, { 31, "?/lost/leaf" }, /* its parent is not known */
		{ 99, "?/leaf" },
	};
	g_autoptr(PassFixture) fixture = pass_fixture_new();

	put_directory(fixture, 11, 0, "/srv");
	put_directory(fixture, 12, 11, "a");
	put_directory(fixture, 13, 12, "\xff\n");
	put_directory(fixture, 21, 0, "/");
	put_directory(fixture, 22, 21, "etc");
	put_directory(fixture, 31, 30, "lost");
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path =
			file_opener_path(fixture->opener, 0, cases[i].parent, "leaf");

		g_assert_cmpstr(path, ==, cases[i].path);
	}
}

static void test_a_path_goes_through_subvolumes(void)
{
	static const DirectoryName top = { 5, 256, 5, 0, (const uint8_t *)"/mnt", 4 };
	static const DirectoryName nested = { 300, 256, 5, 256, (const uint8_t *)"snap", 4 };
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	g_autofree char *path = NULL;

	g_assert_true(hash_store_put_directory(fixture->pass.store, &top, NULL));
	g_assert_true(hash_store_put_directory(fixture->pass.store, &nested, NULL));
	path = file_opener_path(fixture->opener, 300, 256, "leaf");
	g_assert_cmpstr(path, ==, "/mnt/snap/leaf");
}

static void test_each_outcome_has_a_reason(void)
{
	static const struct {
		OpenOutcome outcome;
		SkipReason reason;
	} cases[] = {
		{ OPEN_GONE, SKIP_CHANGED },          { OPEN_NOT_REGULAR, SKIP_CHANGED },
		{ OPEN_LEASED, SKIP_LEASED },         { OPEN_DENIED, SKIP_DENIED },
		{ OPEN_UNREADABLE, SKIP_UNREADABLE }, { OPEN_FAILED, SKIP_BUSY },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(file_opener_skip_reason(cases[i].outcome), ==, cases[i].reason);
	file_opener_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/file-opener/a-file-is-opened-by-the-names-above-it",
			test_a_file_is_opened_by_the_names_above_it);
	g_test_add_func("/file-opener/what-is-gone-is-gone", test_what_is_gone_is_gone);
	g_test_add_func("/file-opener/only-regular-files-are-opened",
			test_only_regular_files_are_opened);
	g_test_add_func("/file-opener/a-directory-that-became-a-symlink-is-not-followed",
			test_a_directory_that_became_a_symlink_is_not_followed);
	g_test_add_func("/file-opener/another-directory-of-the-same-name-is-not-entered",
			test_another_directory_of_the_same_name_is_not_entered);
	g_test_add_func("/file-opener/names-that-form-a-loop-come-to-an-end",
			test_names_that_form_a_loop_come_to_an_end);
	g_test_add_func("/file-opener/more-directories-than-are-kept-open-can-be-used",
			test_more_directories_than_are_kept_open_can_be_used);
	g_test_add_func("/file-opener/a-deep-file-is-opened", test_a_deep_file_is_opened);
	g_test_add_func("/file-opener/a-directory-in-use-stays-open",
			test_a_directory_in_use_stays_open);
	g_test_add_func("/file-opener/what-is-not-permitted-is-denied",
			test_what_is_not_permitted_is_denied);
	g_test_add_func("/file-opener/a-file-is-not-gone-for-want-of-descriptors",
			test_a_file_is_not_gone_for_want_of_descriptors);
	g_test_add_func("/file-opener/paths-are-put-together-from-names",
			test_paths_are_put_together_from_names);
	g_test_add_func("/file-opener/a-path-goes-through-subvolumes",
			test_a_path_goes_through_subvolumes);
	g_test_add_func("/file-opener/each-outcome-has-a-reason", test_each_outcome_has_a_reason);

	return g_test_run();
}
