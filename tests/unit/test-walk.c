/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/walk.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* A tree in a scratch directory that poses as an XFS filesystem. */
typedef struct {
	Scratch *scratch;
	Filesystem filesystem;
	PassResult result;
	Progress progress;
	FileStat state_directory;
	char **excludes;
	uint64_t min_size_bytes;
	atomic_bool stop;
	bool saw_all; /* by the last walk */
} Fixture;

static Fixture *fixture_new(void)
{
	Fixture *fixture = g_new0(Fixture, 1);

	fixture->scratch = scratch_new();
	fixture->filesystem.identity.kind = FS_KIND_XFS;
	fixture->filesystem.identity.block_bytes = 4096;
	fixture->filesystem.mount_point = fixture->scratch->path;
	fixture->filesystem.fd = fixture->scratch->fd;
	fixture->filesystem.roots = g_ptr_array_new_with_free_func(g_free);
	return fixture;
}

static void fixture_free(Fixture *fixture)
{
	g_ptr_array_unref(fixture->filesystem.roots);
	skip_ledger_clear(&fixture->result.skips);
	scratch_free(fixture->scratch);
	g_free(fixture);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fixture, fixture_free)

/* Begin the walk at @path, too, which must outlive it. */
static FilesystemRoot *add_root(Fixture *fixture, const char *path)
{
	FilesystemRoot *root = g_new0(FilesystemRoot, 1);
	FileStat stat;

	g_assert_cmpint(file_stat_at(AT_FDCWD, path, &stat), ==, 0);
	root->path = (char *)path;
	root->mount_id = stat.mount_id;
	root->inode = stat.inode;
	root->btime_nsec = stat.btime_nsec;
	g_ptr_array_add(fixture->filesystem.roots, root);
	return root;
}

static void make_file(Fixture *fixture, const char *path, size_t size)
{
	int fd = scratch_create(fixture->scratch, path, size, 1);

	fd_close(&fd);
}

static void make_directory(Fixture *fixture, const char *path)
{
	g_assert_cmpint(mkdirat(fixture->scratch->fd, path, 0755), ==, 0);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Record the entry as its path below the scratch directory; a directory ends with a slash. */
static void note(Fixture *fixture, const WalkEntry *entry, GHashTable *directories,
		 GPtrArray *found)
{
	const char *above = g_hash_table_lookup(directories, &entry->parent);
	char *path = entry->parent ? g_strconcat(above, entry->name, NULL)
				   : g_strdup(entry->name + strlen(fixture->scratch->path));

	g_assert_true(entry->parent == 0 || above);
	g_assert_cmpuint(entry->subvolume, ==, 0);
	g_assert_cmpuint(entry->parent_subvolume, ==, 0);
	g_assert_cmpint(S_ISDIR(entry->stat.mode), ==, entry->is_directory);
	if (entry->is_directory) {
		char *inside = g_strconcat(path, "/", NULL);

		g_hash_table_insert(directories, g_memdup2(&entry->stat.inode, sizeof(gint64)),
				    inside);
		g_free(path);
		path = g_strdup(inside);
	}
	g_ptr_array_add(found, path);
}

/* Walk.  Returns all entries, sorted, as one text. */
static char *walk_all(Fixture *fixture, GError **error)
{
	g_autoptr(Filter) filter = filter_new(fixture->excludes, fixture->min_size_bytes);
	g_autoptr(ReadOnlySubvolumes) subvolumes = read_only_subvolumes_new(SNAPSHOTS_SHARE);
	const Pass pass = {
		.filesystem = &fixture->filesystem,
		.filter = filter,
		.subvolumes = subvolumes,
		.stop = &fixture->stop,
		.progress = &fixture->progress,
		.result = &fixture->result,
	};
	g_autoptr(Walk) walk = walk_new(&pass, &fixture->state_directory);
	g_autoptr(GHashTable) directories =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
	const WalkEntry *entry;

	for (;;) {
		if (!walk_next(walk, &entry, error))
			return NULL;
		if (!entry)
			break;
		note(fixture, entry, directories, found);
	}

	fixture->saw_all = walk_saw_all_of(walk, 0);
	if (found->len > 0)
		qsort(found->pdata, found->len, sizeof(found->pdata[0]), compare_texts);
	g_ptr_array_add(found, NULL);
	return g_strjoinv(" ", (char **)found->pdata);
}

static void assert_met(Fixture *fixture, const char *expected)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *met = walk_all(fixture, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(met, ==, expected);
}

static void assert_skipped(const Fixture *fixture, SkipReason reason, uint64_t count,
			   const char *example)
{
	const SkipEntry *entry = &fixture->result.skips.entries[reason];

	g_assert_cmpuint(entry->count, ==, count);
	if (example)
		g_assert_true(g_str_has_suffix(entry->examples[0], example));
}

static void assert_nothing_skipped(const Fixture *fixture)
{
	for (size_t reason = 0; reason < SKIP_REASONS; reason++)
		g_assert_cmpuint(fixture->result.skips.entries[reason].count, ==, 0);
}

static void test_all_files_and_directories_are_met(void)
{
	g_autoptr(Fixture) fixture = fixture_new();

	make_directory(fixture, "a");
	make_directory(fixture, "a/b");
	make_directory(fixture, "empty");
	make_file(fixture, "top", 5000);
	make_file(fixture, "a/one", 1);
	make_file(fixture, "a/b/\xff\n", 4096);
	make_file(fixture, "a/.hidden", 10);
	add_root(fixture, fixture->scratch->path);
	assert_met(fixture, "/ /a/ /a/.hidden /a/b/ /a/b/\xff\n /a/one /empty/ /top");
	assert_nothing_skipped(fixture);
	g_assert_cmpuint(fixture->progress.files, ==, 4);
	g_assert_false(fixture->saw_all);
}

static void test_a_walk_that_is_to_stop_ends_also_among_what_it_leaves_out(void)
{
	g_autoptr(Fixture) fixture = fixture_new();

	make_file(fixture, "small", 1);
	fixture->min_size_bytes = 4096;
	add_root(fixture, fixture->scratch->path);
	atomic_store(&fixture->stop, true);
	assert_met(fixture, "");
	assert_nothing_skipped(fixture);
}

static void test_a_large_directory_is_met_whole(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autofree char *met = NULL;

	/* Several times the 32 KiB of one listing. */
	for (int i = 0; i < 500; i++) {
		g_autofree char *name = g_strdup_printf("%0200d", i);

		make_file(fixture, name, 1);
	}
	add_root(fixture, fixture->scratch->path);
	met = walk_all(fixture, NULL);
	for (int i = 0; i < 500; i++) {
		g_autofree char *name = g_strdup_printf("/%0200d", i);

		g_assert_nonnull(strstr(met, name));
	}
	g_assert_cmpuint(fixture->progress.files, ==, 500);
}

static void test_each_name_of_a_file_is_met(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	int directory = fixture->scratch->fd;

	make_directory(fixture, "a");
	make_file(fixture, "one", 5000);
	g_assert_cmpint(linkat(directory, "one", directory, "two", 0), ==, 0);
	g_assert_cmpint(linkat(directory, "one", directory, "a/three", 0), ==, 0);
	add_root(fixture, fixture->scratch->path);
	assert_met(fixture, "/ /a/ /a/three /one /two");
	g_assert_cmpuint(fixture->progress.files, ==, 3);
}

static void make_socket(Fixture *fixture, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	g_auto(Fd) fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_autofree char *path = scratch_path(fixture->scratch, name);

	g_assert_cmpuint(g_strlcpy(address.sun_path, path, sizeof(address.sun_path)), <,
			 sizeof(address.sun_path));
	g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
}

static void test_special_files_are_counted(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	int directory = fixture->scratch->fd;

	g_assert_cmpint(mkfifoat(directory, "fifo", 0644), ==, 0);
	g_assert_cmpint(symlinkat(".", directory, "loop"), ==, 0);
	g_assert_cmpint(symlinkat("nowhere", directory, "broken"), ==, 0);
	make_socket(fixture, "socket");
	make_file(fixture, "file", 5000);
	add_root(fixture, fixture->scratch->path);
	assert_met(fixture, "/ /file");
	assert_skipped(fixture, SKIP_SPECIAL, 4, NULL);
	g_assert_cmpuint(fixture->progress.files, ==, 1);
}

static void test_small_files_are_counted_with_their_bytes(void)
{
	g_autoptr(Fixture) fixture = fixture_new();

	fixture->min_size_bytes = 2048;
	make_file(fixture, "empty", 0);
	make_file(fixture, "small", 2047);
	make_file(fixture, "large", 2048);
	add_root(fixture, fixture->scratch->path);
	assert_met(fixture, "/ /large");
	assert_skipped(fixture, SKIP_SMALL, 2, NULL);
	g_assert_cmpuint(fixture->result.skips.entries[SKIP_SMALL].bytes, ==, 2047);
	g_assert_cmpuint(fixture->progress.files, ==, 3);
}

static void test_what_is_excluded_is_not_entered(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autofree char *absolute = scratch_path(fixture->scratch, "c/file");
	char *globs[] = { (char *)"*.tmp", (char *)"a/b", absolute, NULL };

	fixture->excludes = globs;
	make_directory(fixture, "a");
	make_directory(fixture, "a/b");
	make_directory(fixture, "c");
	make_directory(fixture, "c/a");
	make_directory(fixture, "c/a/b");
	make_directory(fixture, "d.tmp");
	make_file(fixture, "a/b/file", 1);
	make_file(fixture, "a/b.tmp", 1);
	make_file(fixture, "c/file", 1);
	make_file(fixture, "d.tmp/file", 1);
	make_file(fixture, "c/a/b/file", 1);
	add_root(fixture, fixture->scratch->path);
	assert_met(fixture, "/ /a/ /c/ /c/a/ /c/a/b/ /c/a/b/file");
	assert_skipped(fixture, SKIP_EXCLUDED, 4, NULL);
}

static void test_the_state_directory_is_not_entered(void)
{
	g_autoptr(Fixture) fixture = fixture_new();

	make_directory(fixture, "a");
	make_directory(fixture, "a/state");
	make_file(fixture, "a/state/store.sqlite", 5000);
	make_file(fixture, "a/file", 5000);
	g_assert_cmpint(file_stat_at(fixture->scratch->fd, "a/state", &fixture->state_directory),
			==, 0);
	add_root(fixture, fixture->scratch->path);
	assert_met(fixture, "/ /a/ /a/file");
	assert_skipped(fixture, SKIP_OWN_STATE, 1, "/a/state");
}

static void test_the_state_directory_is_not_entered_by_name_either(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autofree char *state = scratch_path(fixture->scratch, "state");
	g_autofree char *store = scratch_path(fixture->scratch, "state/store.sqlite");
	g_autofree char *met = NULL;

	make_directory(fixture, "state");
	make_file(fixture, "state/store.sqlite", 5000);
	g_assert_cmpint(file_stat_at(fixture->scratch->fd, "state", &fixture->state_directory), ==,
			0);
	add_root(fixture, state);
	add_root(fixture, store)->is_file = true;
	met = walk_all(fixture, NULL);
	g_assert_nonnull(met);
	g_assert_null(strstr(met, "store.sqlite"));
	g_assert_cmpuint(fixture->result.skips.entries[SKIP_OWN_STATE].count, >=, 1);
}

static void test_several_roots_are_walked_one_after_another(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autofree char *a = scratch_path(fixture->scratch, "a");
	g_autofree char *b = scratch_path(fixture->scratch, "b");

	make_directory(fixture, "a");
	make_directory(fixture, "b");
	make_directory(fixture, "c");
	make_file(fixture, "a/one", 1);
	make_file(fixture, "b/two", 1);
	make_file(fixture, "c/three", 1);
	add_root(fixture, b);
	add_root(fixture, a);
	assert_met(fixture, "/a/ /a/one /b/ /b/two");
}

static void test_a_root_may_be_a_file(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autofree char *one = scratch_path(fixture->scratch, "a/one");
	g_autofree char *two = scratch_path(fixture->scratch, "a/two");

	make_directory(fixture, "a");
	make_file(fixture, "a/one", 100);
	make_file(fixture, "a/two", 100);
	make_file(fixture, "a/three", 100);
	add_root(fixture, one)->is_file = true;
	add_root(fixture, two)->is_file = true;
	/* Its directory is met with it, so that its path is known. */
	assert_met(fixture, "/a/ /a/ /a/one /a/two");
	g_assert_cmpuint(fixture->progress.files, ==, 2);
	g_assert_false(fixture->saw_all);
}

static void test_a_walk_from_the_top_saw_all(void)
{
	g_autoptr(Fixture) fixture = fixture_new();

	add_root(fixture, fixture->scratch->path)->is_top = true;
	assert_met(fixture, "/");
	g_assert_true(fixture->saw_all);
}

/* Other roots are walked, whatever the owner of one does to its path. */
static void test_a_root_that_is_gone_is_passed_over(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autofree char *gone = scratch_path(fixture->scratch, "gone");
	g_autofree char *kept = scratch_path(fixture->scratch, "kept");

	make_directory(fixture, "gone");
	make_directory(fixture, "kept");
	make_file(fixture, "kept/file", 1);
	add_root(fixture, gone);
	add_root(fixture, kept);
	g_assert_cmpint(rmdir(gone), ==, 0);
	assert_met(fixture, "/kept/ /kept/file");
	assert_skipped(fixture, SKIP_CHANGED, 1, "/gone");
}

static void test_what_takes_the_place_of_a_root_is_not_walked(void)
{
	static const char *const replacements[] = { "decoy", "link", "file", "fifo" };

	for (size_t i = 0; i < G_N_ELEMENTS(replacements); i++) {
		g_autoptr(Fixture) fixture = fixture_new();
		g_autofree char *path = scratch_path(fixture->scratch, "user/root");
		int directory = fixture->scratch->fd;

		make_directory(fixture, "user");
		make_directory(fixture, "user/root");
		make_file(fixture, "user/root/own", 1);
		make_directory(fixture, "decoy");
		make_file(fixture, "decoy/secret", 1);
		make_file(fixture, "file", 1);
		g_assert_cmpint(mkfifoat(directory, "fifo", 0644), ==, 0);
		g_assert_cmpint(symlinkat("../decoy", directory, "link"), ==, 0);
		add_root(fixture, path);
		g_assert_cmpint(renameat(directory, "user/root", directory, "user/old"), ==, 0);
		g_assert_cmpint(renameat(directory, replacements[i], directory, "user/root"), ==,
				0);
		assert_met(fixture, "");
		assert_skipped(fixture, SKIP_CHANGED, 1, "/user/root");
	}
}

/* A symlink in the middle of the path is followed, which O_NOFOLLOW does not prevent. */
static void test_a_root_is_not_walked_through_a_directory_that_was_replaced(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autofree char *path = scratch_path(fixture->scratch, "user/root");
	g_autofree char *file = scratch_path(fixture->scratch, "user/root/file");
	int directory = fixture->scratch->fd;

	make_directory(fixture, "user");
	make_directory(fixture, "user/root");
	make_file(fixture, "user/root/file", 1);
	make_directory(fixture, "decoy");
	make_directory(fixture, "decoy/root");
	make_file(fixture, "decoy/root/file", 1);
	add_root(fixture, path);
	add_root(fixture, file)->is_file = true;
	g_assert_cmpint(renameat(directory, "user", directory, "old"), ==, 0);
	g_assert_cmpint(symlinkat("decoy", directory, "user"), ==, 0);
	assert_met(fixture, "");
	assert_skipped(fixture, SKIP_CHANGED, 2, "/user/root");
	/* By the directory itself nothing has changed. */
	g_assert_cmpint(unlinkat(directory, "user", 0), ==, 0);
	g_assert_cmpint(renameat(directory, "old", directory, "user"), ==, 0);
	skip_ledger_clear(&fixture->result.skips);
	g_ptr_array_remove_index(fixture->filesystem.roots, 1);
	assert_met(fixture, "/user/root/ /user/root/file");
	assert_nothing_skipped(fixture);
}

static void test_a_file_root_that_is_gone_or_replaced_is_passed_over(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autofree char *gone = scratch_path(fixture->scratch, "gone");
	g_autofree char *replaced = scratch_path(fixture->scratch, "replaced");
	int directory = fixture->scratch->fd;

	make_file(fixture, "gone", 1);
	make_file(fixture, "replaced", 1);
	make_file(fixture, "other", 1);
	add_root(fixture, gone)->is_file = true;
	add_root(fixture, replaced)->is_file = true;
	g_assert_cmpint(unlinkat(directory, "gone", 0), ==, 0);
	g_assert_cmpint(renameat(directory, "other", directory, "replaced"), ==, 0);
	assert_met(fixture, "");
	assert_skipped(fixture, SKIP_CHANGED, 2, "/gone");
}

static void walk_deep(void *data)
{
	Fixture *fixture = data;
	struct rlimit limit;
	g_autofree char *met = NULL;

	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	limit.rlim_cur = 160; /* which leaves 32 levels */
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	add_root(fixture, fixture->scratch->path);
	met = walk_all(fixture, NULL);
	g_assert_nonnull(met);
	g_assert_cmpuint(fixture->progress.files, ==, 32);
	assert_skipped(fixture, SKIP_TOO_DEEP, 1, "/d");
}

static void test_directories_are_entered_as_deep_as_descriptors_suffice(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autoptr(GString) path = g_string_new(NULL);

	for (int depth = 0; depth < 60; depth++) {
		g_autofree char *file = g_strdup_printf("%sfile", path->str);

		make_file(fixture, file, 1);
		g_string_append(path, "d");
		make_directory(fixture, path->str);
		g_string_append(path, "/");
	}
	scratch_run_in_child(walk_deep, fixture);
}

static void test_a_walk_closes_what_it_leaves(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	int before = dup(0), after;

	make_directory(fixture, "a");
	make_directory(fixture, "a/b");
	add_root(fixture, fixture->scratch->path);
	assert_met(fixture, "/ /a/ /a/b/");
	after = dup(0);
	g_assert_cmpint(after, ==, before + 1);
	close(before);
	close(after);
}

static void walk_denied(void *data)
{
	Fixture *fixture = data;

	scratch_become_nobody();
	add_root(fixture, fixture->scratch->path);
	assert_met(fixture, "/ /file");
	assert_skipped(fixture, SKIP_DENIED, 1, "/closed");
}

static void test_what_may_not_be_read_is_denied(void)
{
	g_autoptr(Fixture) fixture = fixture_new();

	make_directory(fixture, "closed");
	make_file(fixture, "file", 1);
	g_assert_cmpint(fchmodat(fixture->scratch->fd, "closed", 0, 0), ==, 0);
	scratch_run_in_child(walk_denied, fixture);
}

static void test_names_in_examples_are_whole_paths(void)
{
	g_autoptr(Fixture) fixture = fixture_new();
	g_autofree char *expected = scratch_path(fixture->scratch, "a/b/fifo");

	make_directory(fixture, "a");
	make_directory(fixture, "a/b");
	g_assert_cmpint(mkfifoat(fixture->scratch->fd, "a/b/fifo", 0644), ==, 0);
	add_root(fixture, fixture->scratch->path);
	assert_met(fixture, "/ /a/ /a/b/");
	g_assert_cmpstr(fixture->result.skips.entries[SKIP_SPECIAL].examples[0], ==, expected);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/walk/all-files-and-directories-are-met",
			test_all_files_and_directories_are_met);
	g_test_add_func("/walk/a-large-directory-is-met-whole",
			test_a_large_directory_is_met_whole);
	g_test_add_func("/walk/each-name-of-a-file-is-met", test_each_name_of_a_file_is_met);
	g_test_add_func("/walk/special-files-are-counted", test_special_files_are_counted);
	g_test_add_func("/walk/small-files-are-counted-with-their-bytes",
			test_small_files_are_counted_with_their_bytes);
	g_test_add_func("/walk/what-is-excluded-is-not-entered",
			test_what_is_excluded_is_not_entered);
	g_test_add_func("/walk/the-state-directory-is-not-entered",
			test_the_state_directory_is_not_entered);
	g_test_add_func("/walk/the-state-directory-is-not-entered-by-name-either",
			test_the_state_directory_is_not_entered_by_name_either);
	g_test_add_func("/walk/several-roots-are-walked-one-after-another",
			test_several_roots_are_walked_one_after_another);
	g_test_add_func("/walk/a-root-may-be-a-file", test_a_root_may_be_a_file);
	g_test_add_func("/walk/a-walk-from-the-top-saw-all", test_a_walk_from_the_top_saw_all);
	g_test_add_func("/walk/a-root-that-is-gone-is-passed-over",
			test_a_root_that_is_gone_is_passed_over);
	g_test_add_func("/walk/what-takes-the-place-of-a-root-is-not-walked",
			test_what_takes_the_place_of_a_root_is_not_walked);
	g_test_add_func("/walk/a-root-is-not-walked-through-a-directory-that-was-replaced",
			test_a_root_is_not_walked_through_a_directory_that_was_replaced);
	g_test_add_func("/walk/a-file-root-that-is-gone-or-replaced-is-passed-over",
			test_a_file_root_that_is_gone_or_replaced_is_passed_over);
	g_test_add_func("/walk/directories-are-entered-as-deep-as-descriptors-suffice",
			test_directories_are_entered_as_deep_as_descriptors_suffice);
	g_test_add_func("/walk/a-walk-closes-what-it-leaves", test_a_walk_closes_what_it_leaves);
	g_test_add_func("/walk/what-may-not-be-read-is-denied",
			test_what_may_not_be_read_is_denied);
	g_test_add_func("/walk/a-walk-that-is-to-stop-ends-also-among-what-it-leaves-out",
			test_a_walk_that_is_to_stop_ends_also_among_what_it_leaves_out);
	g_test_add_func("/walk/names-in-examples-are-whole-paths",
			test_names_in_examples_are_whole_paths);

	return g_test_run();
}
