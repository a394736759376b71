/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/directory.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define DEEP_LEVELS 800
#define DEEP_NAMES  200

static DirectoryOutcome try_open(int parent_fd, const char *name, int *ret_errno)
{
	g_autoptr(Directory) parent = directory_new_take(dup(parent_fd), NULL);
	g_autoptr(Directory) directory = NULL;
	DirectoryOutcome outcome = directory_open_in(parent, name, &directory, ret_errno);

	g_assert_true((outcome == DIRECTORY_OPENED) == (directory != NULL));
	return outcome;
}

static void assert_outcome(int parent_fd, const char *name, DirectoryOutcome expected,
			   int expected_errno)
{
	int error = 0;

	g_assert_cmpint(try_open(parent_fd, name, &error), ==, expected);
	g_assert_cmpint(error, ==, expected_errno);
}

static Directory *open_directory(int parent_fd, const char *name)
{
	g_autoptr(Directory) parent = directory_new_take(dup(parent_fd), NULL);
	Directory *directory;
	int error;

	g_assert_cmpint(directory_open_in(parent, name, &directory, &error), ==, DIRECTORY_OPENED);
	return directory;
}

static const DirectoryEntry *next_entry(Directory *directory)
{
	g_autoptr(GError) error = NULL;
	const DirectoryEntry *entry;

	g_assert_true(directory_next(directory, &entry, &error));
	g_assert_no_error(error);
	return entry;
}

static void test_every_name_comes_once_whatever_its_bytes(void)
{
	g_autofree char *longest = g_strnfill(255, 'x');
	const char *names[] = { "-n", " ", "new\nline", "\xff\xfe", "...",  ".hidden",
				"a",  "*", "\033[2J",   "\t",       longest };
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GHashTable) left = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(Directory) directory = NULL;
	const DirectoryEntry *entry;

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		close(scratch_create(scratch, names[i], 0, 0));
		g_hash_table_add(left, (char *)names[i]);
	}

	directory = open_directory(scratch->fd, ".");
	while ((entry = next_entry(directory))) {
		g_assert_true(g_hash_table_remove(left, entry->name));
		g_assert_true(entry->type == DT_REG || entry->type == DT_UNKNOWN);
	}
	g_assert_cmpuint(g_hash_table_size(left), ==, 0);
	g_assert_null(next_entry(directory));
}

static void test_five_thousand_entries_come_in_batches_by_inode(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(Directory) directory = NULL;
	const DirectoryEntry *entry;
	uint64_t last_inode = 0;
	unsigned n_batches = 1;

	for (unsigned i = 0; i < 5000; i++) {
		g_autofree char *name = g_strdup_printf("entry-%u", i);

		close(scratch_create(scratch, name, 0, 0));
	}

	directory = open_directory(scratch->fd, ".");
	while ((entry = next_entry(directory))) {
		g_assert_true(g_hash_table_add(seen, g_strdup(entry->name)));
		n_batches += entry->inode < last_inode;
		last_inode = entry->inode;
	}
	g_assert_cmpuint(g_hash_table_size(seen), ==, 5000);
	g_assert_cmpuint(n_batches, <, 10);
}

static void test_an_entry_has_the_inode_that_a_stat_says(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) file = scratch_create(scratch, "file", 0, 0);
	g_autoptr(Directory) directory = open_directory(scratch->fd, ".");
	const DirectoryEntry *entry = next_entry(directory);
	struct stat st;

	g_assert_cmpint(fstat(file, &st), ==, 0);
	g_assert_cmpuint(entry->inode, ==, st.st_ino);
	g_assert_cmpint(fstat(directory_fd(directory), &st), ==, 0);
	g_assert_true(S_ISDIR(st.st_mode));
}

static void test_what_is_no_directory_any_more_is_gone(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	close(scratch_create(scratch, "file", 0, 0));
	g_assert_cmpint(mkdirat(scratch->fd, "directory", 0755), ==, 0);
	g_assert_cmpint(symlinkat("directory", scratch->fd, "symlink"), ==, 0);
	g_assert_cmpint(mkfifoat(scratch->fd, "fifo", 0600), ==, 0);

	assert_outcome(scratch->fd, "missing", DIRECTORY_GONE, ENOENT);
	assert_outcome(scratch->fd, "file", DIRECTORY_GONE, ENOTDIR);
	assert_outcome(scratch->fd, "fifo", DIRECTORY_GONE, ENOTDIR);
	g_assert_cmpint(try_open(scratch->fd, "symlink", &(int){ 0 }), ==, DIRECTORY_GONE);
}

static void test_a_directory_removed_while_open_has_no_entries(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Directory) directory = NULL;

	g_assert_cmpint(mkdirat(scratch->fd, "directory", 0755), ==, 0);
	directory = open_directory(scratch->fd, "directory");
	g_assert_cmpint(unlinkat(scratch->fd, "directory", AT_REMOVEDIR), ==, 0);
	g_assert_null(next_entry(directory));
}

/* Make names so long that no batch holds them all. */
static void fill_with_long_names(int fd)
{
	for (unsigned i = 0; i < DEEP_NAMES; i++) {
		char name[NAME_MAX + 1];

		g_snprintf(name, sizeof(name), "%0*u", NAME_MAX, i);
		g_assert_cmpint(mkdirat(fd, name, 0755), ==, 0);
	}
}

static unsigned count_entries(Directory *directory)
{
	unsigned n_entries = 0;

	while (next_entry(directory))
		n_entries++;
	return n_entries;
}

static void test_eight_hundred_nested_directories_take_little_memory(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GPtrArray) nested =
		g_ptr_array_new_with_free_func((GDestroyNotify)directory_free);
	size_t used_bytes = mallinfo2().uordblks;

	g_ptr_array_add(nested, directory_new_take(dup(scratch->fd), NULL));
	for (size_t i = 0; i < DEEP_LEVELS; i++) {
		Directory *parent = nested->pdata[i];
		Directory *directory;
		int error;

		g_assert_cmpint(mkdirat(directory_fd(parent), "nested", 0755), ==, 0);
		g_assert_cmpint(directory_open_in(parent, "nested", &directory, &error), ==,
				DIRECTORY_OPENED);
		g_ptr_array_add(nested, directory);
	}

	fill_with_long_names(directory_fd(nested->pdata[DEEP_LEVELS]));
	g_assert_cmpuint(count_entries(nested->pdata[DEEP_LEVELS]), ==, DEEP_NAMES);
	g_assert_cmpuint(count_entries(nested->pdata[0]), ==, 1);
	g_assert_cmpuint(mallinfo2().uordblks - used_bytes, <, (size_t)16 << 20);
}

static void check_levels(void *unused)
{
	static const struct {
		rlim_t descriptors;
		size_t levels;
	} cases[] = {
		/* Some stay free for the rest of the process, but a walk has a few in any case. */
		{ 4096, 4096 - 128 }, { 1024, 1024 - 128 }, { 150, 150 - 128 },
		{ 144, 16 },          { 143, 16 },          { 10, 16 },
	};
	struct rlimit limit;

	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		limit.rlim_cur = cases[i].descriptors;
		if (limit.rlim_cur > limit.rlim_max)
			continue;
		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
		g_assert_cmpuint(directory_levels_max(), ==, cases[i].levels);
	}
	limit.rlim_cur = limit.rlim_max;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	g_assert_cmpuint(directory_levels_max(), <=, 4096);
}

static void test_the_limit_of_descriptors_bounds_the_levels_of_a_walk(void)
{
	scratch_run_in_child(check_levels, NULL);
}

static void test_a_directory_that_cannot_be_read_on_is_an_error(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Directory) directory =
		directory_new_take(scratch_create(scratch, "file", 0, 0), NULL);
	g_autoptr(GError) error = NULL;
	const DirectoryEntry *entry;

	g_assert_false(directory_next(directory, &entry, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOTDIR);
	g_assert_null(entry);
}

static void open_across_mounts(void *unused)
{
	g_auto(Fd) root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_auto(Fd) proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_outcome(root, "proc", DIRECTORY_OTHER_MOUNT, EXDEV);
	assert_outcome(proc, "..", DIRECTORY_OTHER_MOUNT, EXDEV);
	g_assert_cmpint(try_open(proc, ".", &(int){ 0 }), ==, DIRECTORY_OPENED);
	g_assert_cmpint(try_open(proc, "self", &(int){ 0 }), ==, DIRECTORY_GONE);
	g_assert_cmpint(try_open(proc, "sys", &(int){ 0 }), ==, DIRECTORY_OPENED);
}

static void test_a_mount_is_not_entered(void)
{
	open_across_mounts(NULL);
}

static void open_without_openat2(void *error)
{
	scratch_refuse_system_call(SYS_openat2, *(int *)error);
	open_across_mounts(NULL);
}

static void test_a_mount_is_not_entered_where_openat2_is_missing(void)
{
	int errors[] = { ENOSYS, EPERM };

	for (size_t i = 0; i < G_N_ELEMENTS(errors); i++)
		scratch_run_in_child(open_without_openat2, &errors[i]);
}

static void open_as_nobody(void *data)
{
	Scratch *scratch = data;

	scratch_become_nobody();
	assert_outcome(scratch->fd, "closed", DIRECTORY_DENIED, EACCES);
	g_assert_cmpint(try_open(scratch->fd, "open", &(int){ 0 }), ==, DIRECTORY_OPENED);
}

static void test_permission_decides_and_not_who_may_set_noatime(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	g_assert_cmpint(mkdirat(scratch->fd, "closed", 0), ==, 0);
	g_assert_cmpint(mkdirat(scratch->fd, "open", 0755), ==, 0);
	scratch_run_in_child(open_as_nobody, scratch);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/directory/every-name-comes-once-whatever-its-bytes",
			test_every_name_comes_once_whatever_its_bytes);
	g_test_add_func("/directory/five-thousand-entries-come-in-batches-by-inode",
			test_five_thousand_entries_come_in_batches_by_inode);
	g_test_add_func("/directory/an-entry-has-the-inode-that-a-stat-says",
			test_an_entry_has_the_inode_that_a_stat_says);
	g_test_add_func("/directory/what-is-no-directory-any-more-is-gone",
			test_what_is_no_directory_any_more_is_gone);
	g_test_add_func("/directory/a-directory-removed-while-open-has-no-entries",
			test_a_directory_removed_while_open_has_no_entries);
	g_test_add_func("/directory/eight-hundred-nested-directories-take-little-memory",
			test_eight_hundred_nested_directories_take_little_memory);
	g_test_add_func("/directory/the-limit-of-descriptors-bounds-the-levels-of-a-walk",
			test_the_limit_of_descriptors_bounds_the_levels_of_a_walk);
	g_test_add_func("/directory/a-directory-that-cannot-be-read-on-is-an-error",
			test_a_directory_that_cannot_be_read_on_is_an_error);
	g_test_add_func("/directory/a-mount-is-not-entered", test_a_mount_is_not_entered);
	g_test_add_func("/directory/a-mount-is-not-entered-where-openat2-is-missing",
			test_a_mount_is_not_entered_where_openat2_is_missing);
	g_test_add_func("/directory/permission-decides-and-not-who-may-set-noatime",
			test_permission_decides_and_not_who_may_set_noatime);

	return g_test_run();
}
