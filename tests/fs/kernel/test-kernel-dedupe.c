/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/dedupe-range.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/unnamed-file.h"
#include "tests/fs/kernel/real-filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/swap.h>

#define MIB   (UINT64_C(1) << 20)
#define SIZE  (4 * MIB)
#define BLOCK 4096

static FsKind kind;

static DedupeTarget share(int source_fd, int target_fd, uint64_t length)
{
	DedupeTarget target = { .fd = target_fd };

	dedupe_range(&(DedupeSource){ .fd = source_fd }, length, &target, 1, 0, NULL);
	return target;
}

static void assert_share(int source_fd, int target_fd, uint64_t length, DedupeOutcome outcome,
			 int error)
{
	DedupeTarget target = share(source_fd, target_fd, length);

	g_assert_cmpint(target.outcome, ==, outcome);
	g_assert_cmpint(target.error, ==, error);
	g_assert_cmpuint(target.same_bytes, ==, outcome == DEDUPE_SAME ? length : 0);
}

static int open_read_only(Scratch *scratch, const char *name)
{
	int fd = openat(scratch->fd, name, O_RDONLY | O_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	return fd;
}

static void test_equal_files_lie_at_one_place_afterwards(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", SIZE, 1);
	g_auto(Fd) b = scratch_create(scratch, "b", SIZE, 1);
	g_auto(Fd) source = open_read_only(scratch, "a");
	g_auto(Fd) target = open_read_only(scratch, "b");
	FileStat before, after;

	g_assert_cmpuint(real_filesystem_count_shared(a, b, SIZE), ==, 0);
	g_assert_cmpint(file_stat_at(target, "", &before), ==, 0);
	assert_share(source, target, SIZE, DEDUPE_SAME, 0);
	g_assert_cmpint(file_stat_at(target, "", &after), ==, 0);

	g_assert_cmpuint(real_filesystem_count_shared(a, b, SIZE), ==, SIZE / BLOCK);
	g_assert_cmpint(after.mtime_nsec, ==, before.mtime_nsec);
	g_assert_cmpint(after.ctime_nsec, ==, before.ctime_nsec);
	g_assert_cmpuint(after.size_bytes, ==, before.size_bytes);
}

static void test_one_byte_that_differs_leaves_all_apart(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", SIZE, 1);
	g_auto(Fd) b = scratch_create(scratch, "b", SIZE, 1);
	char byte;

	g_assert_cmpint(pread(b, &byte, 1, SIZE - 5000), ==, 1);
	byte ^= 1;
	g_assert_cmpint(pwrite(b, &byte, 1, SIZE - 5000), ==, 1);

	assert_share(a, b, SIZE, DEDUPE_DIFFERS, 0);
	g_assert_cmpuint(real_filesystem_count_shared(a, b, SIZE), ==, 0);
}

static void test_rounds_before_the_difference_are_shared(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", SIZE, 1);
	g_auto(Fd) b = scratch_create(scratch, "b", SIZE, 1);
	DedupeTarget target = { .fd = b };

	scratch_fill(b, 3 * MIB, BLOCK, 2);
	g_assert_cmpuint(dedupe_range(&(DedupeSource){ .fd = a }, SIZE, &target, 1, MIB, NULL), ==,
			 4);
	g_assert_cmpint(target.outcome, ==, DEDUPE_DIFFERS);
	g_assert_cmpuint(target.same_bytes, ==, 3 * MIB);
	g_assert_cmpuint(real_filesystem_count_shared(a, b, SIZE), ==, 3 * MIB / BLOCK);
}

static void test_a_raised_stop_shares_nothing(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", SIZE, 1);
	g_auto(Fd) b = scratch_create(scratch, "b", SIZE, 1);
	DedupeTarget target = { .fd = b };
	const atomic_bool stop = true;

	g_assert_cmpuint(dedupe_range(&(DedupeSource){ .fd = a }, SIZE, &target, 1, MIB, &stop), ==,
			 0);
	g_assert_cmpint(target.outcome, ==, DEDUPE_NOT_DONE);
	g_assert_cmpuint(real_filesystem_count_shared(a, b, SIZE), ==, 0);
}

static void test_as_many_targets_as_a_call_holds_are_shared(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) source = scratch_create(scratch, "source", 128 << 10, 1);
	DedupeTarget targets[DEDUPE_MAX_TARGETS];

	for (unsigned i = 0; i < DEDUPE_MAX_TARGETS; i++) {
		g_autofree char *name = g_strdup_printf("target-%u", i);

		targets[i] = (DedupeTarget){
			.fd = scratch_create(scratch, name, 128 << 10, i == 77 ? 2 : 1),
		};
	}

	dedupe_range(&(DedupeSource){ .fd = source }, 128 << 10, targets, DEDUPE_MAX_TARGETS, 0,
		     NULL);
	for (unsigned i = 0; i < DEDUPE_MAX_TARGETS; i++) {
		g_assert_cmpint(targets[i].outcome, ==, i == 77 ? DEDUPE_DIFFERS : DEDUPE_SAME);
		g_assert_cmpuint(real_filesystem_count_shared(source, targets[i].fd, 128 << 10), ==,
				 i == 77 ? 0 : 32);
		close(targets[i].fd);
	}
}

static void test_a_tail_is_shared_where_both_files_end(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", 10000, 1);
	g_auto(Fd) b = scratch_create(scratch, "b", 10000, 1);
	g_auto(Fd) longer = scratch_create(scratch, "longer", 20000, 1);

	assert_share(a, b, 10000, DEDUPE_SAME, 0);
	g_assert_cmpuint(real_filesystem_count_shared(a, b, 10000), ==, 3);

	/* The kernel says the same of this one. */
	assert_share(a, longer, 10000, DEDUPE_SAME, 0);
	g_assert_cmpuint(real_filesystem_count_shared(a, longer, 10000), ==, 2);
}

static void test_a_range_past_an_end_is_invalid(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", SIZE, 1);
	g_auto(Fd) shorter = scratch_create(scratch, "shorter", SIZE / 2, 1);

	assert_share(a, shorter, SIZE, DEDUPE_INVALID, EINVAL);
	assert_share(shorter, a, SIZE, DEDUPE_INVALID, EINVAL);
}

static void test_one_file_shares_with_itself_where_nothing_overlaps(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = scratch_create(scratch, "file", MIB, 1);
	DedupeTarget target = { .fd = fd, .offset_bytes = MIB };
	g_autofree uint64_t *addresses = NULL;

	scratch_fill(fd, MIB, MIB, 1);
	dedupe_range(&(DedupeSource){ .fd = fd }, MIB, &target, 1, 0, NULL);
	g_assert_cmpint(target.outcome, ==, DEDUPE_SAME);
	addresses = real_filesystem_addresses(fd, 2 * MIB);
	g_assert_cmpuint(addresses[0], !=, 0);
	g_assert_cmpuint(addresses[0], ==, addresses[MIB / BLOCK]);

	target.offset_bytes = BLOCK;
	dedupe_range(&(DedupeSource){ .fd = fd }, MIB, &target, 1, 0, NULL);
	g_assert_cmpint(target.outcome, ==, DEDUPE_INVALID);
}

static void test_an_immutable_target_is_denied_and_an_append_only_one_is_not(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", SIZE, 1);
	g_auto(Fd) immutable = scratch_create(scratch, "immutable", SIZE, 1);
	g_auto(Fd) append_only = scratch_create(scratch, "append-only", SIZE, 1);

	real_filesystem_set_flag(immutable, FS_IMMUTABLE_FL, true);
	real_filesystem_set_flag(append_only, FS_APPEND_FL, true);
	{
		g_auto(Fd) target = open_read_only(scratch, "immutable");
		g_auto(Fd) appended = open_read_only(scratch, "append-only");

		assert_share(a, target, SIZE, DEDUPE_DENIED, EPERM);
		assert_share(target, a, SIZE, DEDUPE_SAME, 0);
		assert_share(a, appended, SIZE, DEDUPE_SAME, 0);
	}
	real_filesystem_set_flag(immutable, FS_IMMUTABLE_FL, false);
	real_filesystem_set_flag(append_only, FS_APPEND_FL, false);
}

typedef struct {
	int source_fd;
	int target_fd;
	DedupeOutcome expected;
} UserShare;

static void share_as_nobody(void *data)
{
	const UserShare *share_data = data;

	scratch_become_nobody();
	g_assert_cmpint(share(share_data->source_fd, share_data->target_fd, SIZE).outcome, ==,
			share_data->expected);
}

static void test_only_the_owner_and_root_may_have_a_file_shared_into(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) source = scratch_create(scratch, "source", SIZE, 1);
	g_auto(Fd) target = -1;

	close(scratch_create(scratch, "target", SIZE, 1));
	target = open_read_only(scratch, "target");
	scratch_run_in_child(share_as_nobody, &(UserShare){ source, target, DEDUPE_DENIED });
	g_assert_cmpint(fchown(target, 65534, 65534), ==, 0);
	scratch_run_in_child(share_as_nobody, &(UserShare){ source, target, DEDUPE_SAME });
}

static void test_a_read_only_mount_is_told_apart(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", SIZE, 1);
	g_auto(Fd) b = -1;

	g_assert_cmpint(mkdirat(scratch->fd, "written", 0755), ==, 0);
	g_assert_cmpint(mkdirat(scratch->fd, "seen", 0755), ==, 0);
	close(scratch_create(scratch, "written/b", SIZE, 1));
	real_filesystem_bind(scratch, "written", "seen", true);
	b = open_read_only(scratch, "seen/b");
	assert_share(a, b, SIZE, DEDUPE_READ_ONLY, EROFS);
	real_filesystem_unbind(scratch, "seen");
}

static void test_other_kinds_of_targets_are_unsupported(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", SIZE, 1);
	g_auto(Fd) elsewhere = memfd_create("elsewhere", MFD_CLOEXEC);

	scratch_fill(elsewhere, 0, SIZE, 1);
	assert_share(a, elsewhere, SIZE, DEDUPE_UNSUPPORTED, EXDEV);
	assert_share(a, scratch->fd, SIZE, DEDUPE_UNSUPPORTED, EISDIR);
	g_assert_cmpint(share(elsewhere, a, SIZE).outcome, ==, DEDUPE_UNSUPPORTED);
}

static void test_an_active_swap_file_is_left_alone(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autofree char *path = scratch_path(scratch, "swap");
	const char *mkswap[] = { "mkswap", path, NULL };
	g_auto(Fd) source = -1;
	g_auto(Fd) swap = -1;
	DedupeTarget target;

	/* Of like flags, since the kernel looks at a difference in them first. */
	if (kind == FS_KIND_BTRFS) {
		source = real_filesystem_create_no_cow(scratch, "source", SIZE, 1);
		swap = real_filesystem_create_no_cow(scratch, "swap", SIZE, 1);
	} else {
		source = scratch_create(scratch, "source", SIZE, 1);
		swap = scratch_create(scratch, "swap", SIZE, 1);
	}
	g_assert_cmpint(fchmod(swap, 0600), ==, 0);
	g_assert_cmpint(fsync(swap), ==, 0);
	if (!g_spawn_sync(NULL, (char **)mkswap, NULL,
			  G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL |
				  G_SPAWN_STDERR_TO_DEV_NULL,
			  NULL, NULL, NULL, NULL, NULL, NULL) ||
	    swapon(path, 0) < 0) {
		g_test_skip("cannot swap here");
		return;
	}

	target = share(source, swap, SIZE);
	g_assert_cmpint(swapoff(path), ==, 0);
	g_assert_cmpint(target.outcome, ==, DEDUPE_SWAP_FILE);
	g_assert_cmpint(target.error, ==, ETXTBSY);
}

/* Someone else's file, the hint and size of which change all the time. */
typedef struct {
	int fd;
	uint64_t size_bytes;
	atomic_bool stop;
} Racer;

static void set_hint(int fd, bool is_set)
{
	struct fsxattr attributes;

	g_assert_cmpint(ioctl(fd, FS_IOC_FSGETXATTR, &attributes), ==, 0);
	attributes.fsx_xflags &= ~(uint32_t)FS_XFLAG_COWEXTSIZE;
	attributes.fsx_xflags |= is_set ? FS_XFLAG_COWEXTSIZE : 0;
	attributes.fsx_cowextsize = is_set ? MIB : 0;
	g_assert_cmpint(ioctl(fd, FS_IOC_FSSETXATTR, &attributes), ==, 0);
}

static bool has_hint(int fd)
{
	struct fsxattr attributes;

	g_assert_cmpint(ioctl(fd, FS_IOC_FSGETXATTR, &attributes), ==, 0);
	return attributes.fsx_xflags & FS_XFLAG_COWEXTSIZE;
}

static void *race(void *data)
{
	Racer *racer = data;

	/* Shorter by all but a block, longer by a block, and what it was. */
	while (!atomic_load(&racer->stop)) {
		set_hint(racer->fd, true);
		g_assert_cmpint(ftruncate(racer->fd, BLOCK), ==, 0);
		g_usleep(20);
		scratch_fill(racer->fd, 0, racer->size_bytes, 1);
		g_usleep(20);
		g_assert_cmpint(ftruncate(racer->fd, (off_t)racer->size_bytes + BLOCK), ==, 0);
		g_assert_cmpint(ftruncate(racer->fd, (off_t)racer->size_bytes), ==, 0);
		g_usleep(20);
		set_hint(racer->fd, false);
	}

	return NULL;
}

/* How often the target of @size_bytes is deduplicated from a racer's file, and gets a hint. */
static void race_for_hints(Scratch *scratch, uint64_t size_bytes, uint32_t hint_block_bytes,
			   RelayFile *relay, unsigned *ret_same, unsigned *ret_hints)
{
	g_auto(Fd) source = scratch_create(scratch, "source", size_bytes, 1);
	g_auto(Fd) target = scratch_create(scratch, "target", size_bytes, 1);
	DedupeSource asked = { .fd = source, .hint_block_bytes = hint_block_bytes, .relay = relay };
	Racer racer = { .fd = source, .size_bytes = size_bytes };
	int64_t deadline_usec = g_get_monotonic_time() + 30 * G_USEC_PER_SEC;
	GThread *thread;

	g_assert_cmpint(fchown(source, 65534, 65534), ==, 0);
	thread = g_thread_new("racer", race, &racer);
	*ret_same = 0;
	*ret_hints = 0;
	/* What copies hints does so within a few tries; more on a busy machine. */
	for (unsigned i = 0; i < 400 || (!hint_block_bytes && !*ret_hints &&
					 g_get_monotonic_time() < deadline_usec);
	     i++) {
		DedupeTarget to = { .fd = target };

		dedupe_range(&asked, size_bytes, &to, 1, 0, NULL);
		*ret_same += to.outcome == DEDUPE_SAME;
		if (!has_hint(target))
			continue;
		++*ret_hints;
		set_hint(target, false);
	}
	atomic_store(&racer.stop, true);
	g_thread_join(thread);
}

static void test_a_hint_is_not_copied_whatever_its_owner_does_meanwhile(void)
{
	static const uint64_t sizes[] = { BLOCK, 2 * BLOCK, 16 * BLOCK };
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(RelayFile) relay = NULL;
	unsigned n_same, n_hints;

	if (kind != FS_KIND_XFS) {
		g_test_skip("only XFS has CoW extent size hints");
		return;
	}

	relay = relay_file_new_take(unnamed_file_make(scratch->fd), BLOCK);
	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		race_for_hints(scratch, sizes[i], BLOCK, relay, &n_same, &n_hints);
		g_assert_cmpuint(n_same, >, 0);
		g_assert_cmpuint(n_hints, ==, 0);
		/* Unless something is done about it. */
		race_for_hints(scratch, sizes[i], 0, NULL, &n_same, &n_hints);
		g_assert_cmpuint(n_hints, >, 0);
	}
}

static void test_nodatacow_shares_only_with_its_like(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) cow = scratch_create(scratch, "cow", SIZE, 1);
	g_auto(Fd) a = -1;
	g_auto(Fd) b = -1;

	if (kind != FS_KIND_BTRFS) {
		g_test_skip("btrfs only");
		return;
	}

	a = real_filesystem_create_no_cow(scratch, "a", SIZE, 1);
	b = real_filesystem_create_no_cow(scratch, "b", SIZE, 1);
	assert_share(cow, a, SIZE, DEDUPE_INVALID, EINVAL);
	assert_share(a, cow, SIZE, DEDUPE_INVALID, EINVAL);
	assert_share(a, b, SIZE, DEDUPE_SAME, 0);
	g_assert_cmpuint(real_filesystem_count_shared(a, b, SIZE), ==, SIZE / BLOCK);
}

static void test_zeros_give_their_blocks_back_for_a_hole(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) hole = scratch_create(scratch, "hole", 0, 0);
	g_auto(Fd) zeros = scratch_create(scratch, "zeros", 0, 0);
	g_autofree char *buffer = g_malloc0(SIZE);
	struct stat before, after;

	g_assert_cmpint(ftruncate(hole, SIZE), ==, 0);
	g_assert_cmpint(pwrite(zeros, buffer, SIZE, 0), ==, (ssize_t)SIZE);
	g_assert_cmpint(fsync(zeros), ==, 0);
	g_assert_no_errno(fstat(zeros, &before));
	assert_share(hole, zeros, SIZE, DEDUPE_SAME, 0);
	g_assert_cmpint(fsync(zeros), ==, 0);
	g_assert_no_errno(fstat(zeros, &after));
	g_assert_cmpuint((uint64_t)before.st_blocks * 512, >=, SIZE);
	g_assert_cmpuint((uint64_t)after.st_blocks * 512, ==, 0);
}

static void test_space_in_use_follows_what_is_shared(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) a = scratch_create(scratch, "a", 16 * MIB, 1);
	g_auto(Fd) b = scratch_create(scratch, "b", 16 * MIB, 1);
	uint64_t before, after;

	g_assert_cmpint(syncfs(a), ==, 0);
	g_assert_true(fs_used_bytes(a, kind, &before, NULL));
	assert_share(a, b, 16 * MIB, DEDUPE_SAME, 0);
	g_assert_cmpint(syncfs(a), ==, 0);
	g_assert_true(fs_used_bytes(a, kind, &after, NULL));
	g_assert_cmpuint(before - after, >=, 15 * MIB);
	g_assert_cmpuint(before - after, <=, 16 * MIB);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	kind = real_filesystem_kind();
	if (kind == FS_KIND_OTHER || geteuid() != 0) {
		g_printerr("run this as root by tests/fs/kernel/on-filesystem\n");
		return 77;
	}

	g_test_add_func("/kernel-dedupe/equal-files-lie-at-one-place-afterwards",
			test_equal_files_lie_at_one_place_afterwards);
	g_test_add_func("/kernel-dedupe/one-byte-that-differs-leaves-all-apart",
			test_one_byte_that_differs_leaves_all_apart);
	g_test_add_func("/kernel-dedupe/rounds-before-the-difference-are-shared",
			test_rounds_before_the_difference_are_shared);
	g_test_add_func("/kernel-dedupe/a-raised-stop-shares-nothing",
			test_a_raised_stop_shares_nothing);
	g_test_add_func("/kernel-dedupe/as-many-targets-as-a-call-holds-are-shared",
			test_as_many_targets_as_a_call_holds_are_shared);
	g_test_add_func("/kernel-dedupe/a-tail-is-shared-where-both-files-end",
			test_a_tail_is_shared_where_both_files_end);
	g_test_add_func("/kernel-dedupe/a-range-past-an-end-is-invalid",
			test_a_range_past_an_end_is_invalid);
	g_test_add_func("/kernel-dedupe/one-file-shares-with-itself-where-nothing-overlaps",
			test_one_file_shares_with_itself_where_nothing_overlaps);
	g_test_add_func("/kernel-dedupe/an-immutable-target-is-denied",
			test_an_immutable_target_is_denied_and_an_append_only_one_is_not);
	g_test_add_func("/kernel-dedupe/only-the-owner-and-root-may-have-a-file-shared-into",
			test_only_the_owner_and_root_may_have_a_file_shared_into);
	g_test_add_func("/kernel-dedupe/a-read-only-mount-is-told-apart",
			test_a_read_only_mount_is_told_apart);
	g_test_add_func("/kernel-dedupe/other-kinds-of-targets-are-unsupported",
			test_other_kinds_of_targets_are_unsupported);
	g_test_add_func("/kernel-dedupe/an-active-swap-file-is-left-alone",
			test_an_active_swap_file_is_left_alone);
	g_test_add_func("/kernel-dedupe/a-hint-is-not-copied-whatever-its-owner-does-meanwhile",
			test_a_hint_is_not_copied_whatever_its_owner_does_meanwhile);
	g_test_add_func("/kernel-dedupe/nodatacow-shares-only-with-its-like",
			test_nodatacow_shares_only_with_its_like);
	g_test_add_func("/kernel-dedupe/zeros-give-their-blocks-back-for-a-hole",
			test_zeros_give_their_blocks_back_for_a_hole);
	g_test_add_func("/kernel-dedupe/space-in-use-follows-what-is-shared",
			test_space_in_use_follows_what_is_shared);

	return g_test_run();
}
