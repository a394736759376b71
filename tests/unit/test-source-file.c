/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/source-file.h"

#include "daemon/share/hole-source.h"
#include "hashstore/objects/names.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/dedupe-range.h"
#include "kernel-ioctl/file/file-stat.h"
#include "tests/unit/pass-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK FIXTURE_BLOCK_BYTES

typedef struct {
	PassFixture *pass;
	Filesystem *filesystem;
	int directory; /* that of the fixture */
} Fixture;

/* The absolute path of the directory in which an unnamed file was made; to be freed. */
static char *directory_of(int fd)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
	g_autofree char *path = g_file_read_link(link, NULL);

	g_assert_nonnull(path);
	return g_path_get_dirname(path);
}

/* Files inherit these flags from directories of such names. */
static uint32_t inherited(int fd)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} directories[] = { { "realtime", FS_XFLAG_REALTIME },
			    { "dax", FS_XFLAG_DAX },
			    { "no-cow", FS_NOCOW_FL } };
	g_autofree char *path = directory_of(fd);
	g_autofree char *name = g_path_get_basename(path);

	for (size_t i = 0; i < G_N_ELEMENTS(directories); i++)
		if (strcmp(directories[i].name, name) == 0)
			return directories[i].flag;

	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *ret;

	va_start(arguments, request);
	ret = va_arg(arguments, void *);
	va_end(arguments);

	switch (request) {
	case FS_IOC_GETVERSION:
		return 0;
	case FS_IOC_FSGETXATTR:
		*(struct fsxattr *)ret = (struct fsxattr){ .fsx_xflags = inherited(fd) };
		return 0;
	case FS_IOC_GETFLAGS:
		*(uint32_t *)ret = inherited(fd);
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}

static void set_up(Fixture *fixture, const void *data)
{
	static const char *const names[] = { "plain", "realtime", "dax", "no-cow" };

	fixture->pass = pass_fixture_new();
	fixture->filesystem = &fixture->pass->filesystem;
	fixture->filesystem->roots = g_ptr_array_new();
	fixture->directory = fixture->pass->scratch->fd;
	pass_fixture_put_root(fixture->pass);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		g_assert_cmpint(mkdirat(fixture->directory, names[i], 0755), ==, 0);
}

static void tear_down(Fixture *fixture, const void *data)
{
	pass_fixture_free(fixture->pass);
}

/* The directory with this name becomes the mount point. */
static int mount(Fixture *fixture, const char *name)
{
	fixture->filesystem->fd = openat(fixture->directory, name, O_RDONLY | O_DIRECTORY);
	g_assert_cmpint(fixture->filesystem->fd, >=, 0);
	return fixture->filesystem->fd;
}

/* The directory with this name becomes a root of the pass. */
static void add_root(Fixture *fixture, FilesystemRoot *root, const char *name)
{
	FileStat stat;

	g_assert_cmpint(file_stat_at(fixture->directory, name, &stat), ==, 0);
	*root = (FilesystemRoot){ .path = scratch_path(fixture->pass->scratch, name),
				  .mount_id = stat.mount_id,
				  .inode = stat.inode,
				  .btime_nsec = stat.btime_nsec };
	g_ptr_array_add(fixture->filesystem->roots, root);
}

/* @name: a directory of the fixture, "" for its own; NULL: none allows it. */
static void assert_made_in(Fixture *fixture, FileOpener *opener, const OpenObject *target,
			   const char *name)
{
	SkipReason reason = SKIP_REASONS;
	g_auto(Fd) fd = source_file_make(fixture->filesystem, opener, target, &reason);
	g_autofree char *expected = NULL;
	g_autofree char *found = NULL;
	struct stat stat;

	if (!name) {
		g_assert_cmpint(fd, ==, -1);
		g_assert_cmpint(reason, ==, SKIP_NO_TEMPORARY_FILE);
		return;
	}

	g_assert_cmpint(reason, ==, SKIP_REASONS);
	g_assert_cmpint(fstat(fd, &stat), ==, 0);
	g_assert_cmpint(stat.st_size, ==, 0);
	g_assert_cmpint(fcntl(fd, F_GETFL) & O_ACCMODE, ==, O_RDWR);
	found = directory_of(fd);
	expected = *name ? scratch_path(fixture->pass->scratch, name)
			 : g_strdup(fixture->pass->scratch->path);
	g_assert_cmpstr(found, ==, expected);
}

static void test_it_is_made_beside_the_target(Fixture *fixture, const void *data)
{
	DirectoryName row = { .name = (const uint8_t *)"plain", .name_bytes = strlen("plain") };
	FileOpener *opener = fixture->pass->opener;
	OpenObject target = { 0 };
	FileStat stat;

	g_assert_cmpint(file_stat_at(fixture->directory, "plain", &stat), ==, 0);
	row.inode = target.parent = stat.inode;
	row.parent = pass_fixture_put_root(fixture->pass);
	g_assert_true(hash_store_put_directory(fixture->pass->pass.store, &row, NULL));
	assert_made_in(fixture, opener, &target, "plain");
	assert_made_in(fixture, opener, NULL, "");
	assert_made_in(fixture, NULL, &target, "");

	/* Another directory has its name by now. */
	file_opener_free(opener);
	fixture->pass->opener = file_opener_new(fixture->filesystem, fixture->pass->pass.store);
	g_assert_cmpint(renameat(fixture->directory, "plain", fixture->directory, "moved"), ==, 0);
	g_assert_cmpint(mkdirat(fixture->directory, "plain", 0755), ==, 0);
	assert_made_in(fixture, fixture->pass->opener, &target, "");
}

/* Data with such flags is not shared with that of ordinary files. */
static void test_it_inherits_no_flags_that_keep_it_from_sharing(Fixture *fixture, const void *data)
{
	FileOpener *opener = fixture->pass->opener;
	FilesystemRoot dax = { 0 }, plain = { 0 };
	g_auto(Fd) fd G_GNUC_UNUSED = mount(fixture, "realtime");

	assert_made_in(fixture, opener, NULL, NULL);
	add_root(fixture, &dax, "dax");
	assert_made_in(fixture, opener, NULL, NULL);
	add_root(fixture, &plain, "plain");
	assert_made_in(fixture, opener, NULL, "plain");
	g_free(dax.path);
	g_free(plain.path);
}

/* Without an opener the top level would come first, which cannot be opened here. */
static void test_on_btrfs_it_has_checksums(Fixture *fixture, const void *data)
{
	fixture->filesystem->identity.kind = FS_KIND_BTRFS;
	assert_made_in(fixture, NULL, NULL, "");

	g_auto(Fd) fd G_GNUC_UNUSED = mount(fixture, "no-cow");
	assert_made_in(fixture, NULL, NULL, NULL);
}

typedef struct {
	Fixture *fixture;
	int error;
	SkipReason expected;
} Refusal;

static void make_refused(void *data)
{
	const Refusal *refusal = data;
	SkipReason reason = SKIP_REASONS;

	scratch_refuse_system_call(SYS_openat, refusal->error);
	g_assert_cmpint(source_file_make(refusal->fixture->filesystem,
					 refusal->fixture->pass->opener, NULL, &reason),
			==, -1);
	g_assert_cmpint(reason, ==, refusal->expected);
}

static void test_lack_of_space_is_another_reason(Fixture *fixture, const void *data)
{
	Refusal refusals[] = {
		{ fixture, ENOSPC, SKIP_NO_SPACE },
		{ fixture, EDQUOT, SKIP_NO_SPACE },
		{ fixture, EACCES, SKIP_NO_TEMPORARY_FILE },
		{ fixture, EOPNOTSUPP, SKIP_NO_TEMPORARY_FILE },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(refusals); i++)
		scratch_run_in_child(make_refused, &refusals[i]);
}

/* The hole begins behind the first block, and the file ends with it.  Returns its inode. */
static uint64_t assert_hole(HoleSource *hole, uint64_t length, uint64_t hole_bytes)
{
	SkipReason reason = SKIP_REASONS;
	int fd = hole_source_fd(hole, NULL, length, &reason);
	struct stat stat;

	g_assert_cmpint(fstat(fd, &stat), ==, 0);
	g_assert_cmpuint(hole_source_offset(hole), ==, BLOCK);
	g_assert_cmpint(stat.st_size, ==, (off_t)(BLOCK + hole_bytes));
	g_assert_cmpint(stat.st_blocks, ==, 0);
	g_assert_cmpint(reason, ==, SKIP_REASONS);
	return stat.st_ino;
}

/* A file that ended within a block is never enlarged, as that writes the rest of the block. */
static void test_a_hole_of_whole_blocks_serves_all_lengths(Fixture *fixture, const void *data)
{
	g_autoptr(HoleSource) hole = hole_source_new(fixture->filesystem, fixture->pass->opener);
	uint64_t whole = assert_hole(hole, BLOCK, DEDUPE_ROUND_BYTES);
	g_auto(Fd) keeps_whole G_GNUC_UNUSED =
		dup(hole_source_fd(hole, NULL, BLOCK, &(SkipReason){ 0 }));
	g_auto(Fd) keeps_cut G_GNUC_UNUSED = -1;
	uint64_t cut;

	g_assert_cmpuint(assert_hole(hole, 100 * BLOCK, DEDUPE_ROUND_BYTES), ==, whole);
	cut = assert_hole(hole, 3 * BLOCK + 5, 3 * BLOCK + 5);
	g_assert_cmpuint(cut, !=, whole);
	g_assert_cmpuint(assert_hole(hole, 3 * BLOCK + 5, 3 * BLOCK + 5), ==, cut);
	keeps_cut = dup(hole_source_fd(hole, NULL, 3 * BLOCK + 5, &(SkipReason){ 0 }));
	g_assert_cmpuint(assert_hole(hole, 3 * BLOCK + 6, 3 * BLOCK + 6), !=, cut);
	g_assert_cmpuint(assert_hole(hole, 16 * BLOCK, DEDUPE_ROUND_BYTES), !=, cut);
}

static void ask_for_refused_holes(void *data)
{
	Fixture *fixture = data;
	g_autoptr(HoleSource) hole = hole_source_new(fixture->filesystem, fixture->pass->opener);
	SkipReason reason = SKIP_REASONS;

	scratch_refuse_system_call(SYS_ftruncate, EIO);
	for (int i = 0; i < 2; i++) {
		g_assert_cmpint(hole_source_fd(hole, NULL, BLOCK, &reason), ==, -1);
		g_assert_cmpint(reason, ==, SKIP_NO_TEMPORARY_FILE);
	}
	scratch_refuse_system_call(SYS_openat, ENOSPC);
	g_assert_cmpint(hole_source_fd(hole, NULL, BLOCK, &reason), ==, -1);
	g_assert_cmpint(reason, ==, SKIP_NO_SPACE);
}

static void test_it_says_why_there_is_no_hole(Fixture *fixture, const void *data)
{
	scratch_run_in_child(ask_for_refused_holes, fixture);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/source-file/" name, Fixture, NULL, set_up, test, tear_down)
	ADD("it-is-made-beside-the-target", test_it_is_made_beside_the_target);
	ADD("it-inherits-no-flags-that-keep-it-from-sharing",
	    test_it_inherits_no_flags_that_keep_it_from_sharing);
	ADD("on-btrfs-it-has-checksums", test_on_btrfs_it_has_checksums);
	ADD("lack-of-space-is-another-reason", test_lack_of_space_is_another_reason);
	ADD("a-hole-of-whole-blocks-serves-all-lengths",
	    test_a_hole_of_whole_blocks_serves_all_lengths);
	ADD("it-says-why-there-is-no-hole", test_it_says_why_there_is_no_hole);

	return g_test_run();
}
