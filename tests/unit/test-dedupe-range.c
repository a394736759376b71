/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/dedupe-range.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

#define MAX_CALLS      64
#define SOURCE_FD      1000
#define FIRST_TARGET   2000
#define NEVER          UINT_MAX
#define SOURCE_OFFSET  (8 * KIB)
#define TARGET_OFFSET  (64 * KIB)
#define TARGET_SPACING GIB

/*
 * A kernel that shares everything, except as told.  It is the ioctl() of this program; each test sets it up
 * anew.
 */
typedef struct {
	/* Its behaviour. */
	unsigned failing_call; /* this call, counted from 0, fails with call_errno */
	int call_errno;
	unsigned failing_target; /* this target has failing_status from call failing_from on */
	unsigned failing_from;
	int32_t failing_status;
	atomic_bool *stop; /* raised in call stop_in */
	unsigned stop_in;

	int source_fd;
	int relay_fd; /* may be the source, too */
	uint32_t xflags;
	int clone_errno;
	/* The requests it got. */
	unsigned n_clones;
	struct file_clone_range clone;
	unsigned n_calls;
	struct {
		int source_fd;
		uint64_t source_offset;
		uint64_t length;
		unsigned n_targets;
		int64_t last_fd;
		uint64_t last_offset;
	} calls[MAX_CALLS];
} FakeKernel;

static FakeKernel kernel;

static int fake_clone(const struct file_clone_range *range)
{
	kernel.n_clones++;
	kernel.clone = *range;
	errno = kernel.clone_errno;
	return kernel.clone_errno ? -1 : 0;
}

static int fake_dedupe(int source_fd, struct file_dedupe_range *request)
{
	unsigned call = kernel.n_calls++;

	g_assert_cmpuint(call, <, MAX_CALLS);
	g_assert_cmpuint(request->reserved1, ==, 0);
	g_assert_cmpuint(request->reserved2, ==, 0);

	kernel.calls[call].source_fd = source_fd;
	kernel.calls[call].source_offset = request->src_offset;
	kernel.calls[call].length = request->src_length;
	kernel.calls[call].n_targets = request->dest_count;
	for (unsigned i = 0; i < request->dest_count; i++) {
		struct file_dedupe_range_info *info = &request->info[i];

		kernel.calls[call].last_fd = info->dest_fd;
		kernel.calls[call].last_offset = info->dest_offset;
		info->bytes_deduped = 12345;
		info->status = info->dest_fd == FIRST_TARGET + (int)kernel.failing_target &&
					       call >= kernel.failing_from
				       ? kernel.failing_status
				       : FILE_DEDUPE_RANGE_SAME;
	}
	if (kernel.stop && call == kernel.stop_in)
		atomic_store(kernel.stop, true);
	if (call != kernel.failing_call)
		return 0;

	errno = kernel.call_errno;
	return -1;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);

	if (request == FS_IOC_FSGETXATTR) {
		*(struct fsxattr *)argument = (struct fsxattr){ .fsx_xflags = kernel.xflags };
		return 0;
	}
	if (request == FICLONERANGE) {
		g_assert_cmpint(fd, ==, kernel.relay_fd);
		return fake_clone(argument);
	}
	g_assert_true(fd == kernel.source_fd || fd == kernel.relay_fd);
	g_assert_cmpuint(request, ==, FIDEDUPERANGE);
	return fake_dedupe(fd, argument);
}

static void kernel_reset(void)
{
	kernel = (FakeKernel){
		.source_fd = SOURCE_FD,
		.failing_call = NEVER,
		.failing_target = NEVER,
	};
}

static unsigned dedupe(uint64_t length, DedupeTarget *targets, size_t n_targets,
		       uint64_t round_bytes)
{
	const DedupeSource source = { .fd = SOURCE_FD, .offset_bytes = SOURCE_OFFSET };

	for (size_t i = 0; i < n_targets; i++)
		targets[i] = (DedupeTarget){
			.fd = FIRST_TARGET + (int)i,
			.offset_bytes = TARGET_OFFSET + i * TARGET_SPACING,
			.outcome = DEDUPE_FAILED,
			.error = -1,
			.same_bytes = UINT64_MAX,
		};

	return dedupe_range(&source, length, targets, n_targets, round_bytes, kernel.stop);
}

static void assert_target(const DedupeTarget *target, DedupeOutcome outcome, int error,
			  uint64_t same_bytes)
{
	g_assert_cmpint(target->outcome, ==, outcome);
	g_assert_cmpint(target->error, ==, error);
	g_assert_cmpuint(target->same_bytes, ==, same_bytes);
}

/* All rounds but the last are full and contiguous. */
static void assert_rounds(uint64_t length, uint64_t round)
{
	uint64_t done = 0;

	for (unsigned i = 0; i < kernel.n_calls; i++) {
		g_assert_cmpuint(kernel.calls[i].source_offset, ==, SOURCE_OFFSET + done);
		g_assert_cmpuint(kernel.calls[i].length, ==, MIN(round, length - done));
		done += kernel.calls[i].length;
	}
	g_assert_cmpuint(done, ==, length);
}

static void test_rounds_hold_their_bytes_over_all_targets(void)
{
	static const struct {
		uint64_t length, round_bytes, expected_round;
		unsigned n_targets, expected_calls;
	} cases[] = {
		{ 40 * MIB, 0, 16 * MIB, 1, 3 },
		{ 16 * MIB, 16 * MIB, 16 * MIB, 1, 1 },
		{ 4096, 16 * MIB, 16 * MIB, 1, 1 },
		{ 10 * MIB + 1808, 4 * MIB, 4 * MIB, 1, 3 },
		{ 4 * MIB, 4 * MIB, MIB, 4, 4 },
		/* 16 MiB / 3 is 5461 KiB, which is rounded down to a multiple of 64 KiB. */
		{ 16 * MIB, 16 * MIB, 5440 * KIB, 3, 4 },
		{ MIB, 16 * MIB, 128 * KIB, 127, 8 },
		/* Never less than 64 KiB. */
		{ 256 * KIB, 1, 64 * KIB, 1, 4 },
		{ 256 * KIB, MIB, 64 * KIB, 127, 4 },
		/* The kernel would shorten a longer request to 1 GiB. */
		{ 3 * GIB, UINT64_MAX, GIB, 1, 3 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		DedupeTarget targets[DEDUPE_MAX_TARGETS];
		unsigned n_calls;

		kernel_reset();
		n_calls =
			dedupe(cases[i].length, targets, cases[i].n_targets, cases[i].round_bytes);
		g_assert_cmpuint(n_calls, ==, cases[i].expected_calls);
		g_assert_cmpuint(n_calls, ==, kernel.n_calls);
		assert_rounds(cases[i].length, cases[i].expected_round);
		for (unsigned j = 0; j < cases[i].n_targets; j++)
			assert_target(&targets[j], DEDUPE_SAME, 0, cases[i].length);
	}
}

static void test_a_target_moves_along_with_the_source(void)
{
	DedupeTarget targets[2];

	kernel_reset();
	dedupe(3 * MIB, targets, 2, 2 * MIB);
	g_assert_cmpuint(kernel.n_calls, ==, 3);
	for (unsigned i = 0; i < 3; i++)
		g_assert_cmpuint(kernel.calls[i].last_offset, ==,
				 TARGET_OFFSET + TARGET_SPACING + i * MIB);
}

static void test_a_target_that_fails_leaves_the_others_larger_rounds(void)
{
	DedupeTarget targets[3];

	kernel_reset();
	kernel.failing_target = 2;
	kernel.failing_from = 1;
	kernel.failing_status = -EAGAIN;
	dedupe(6 * MIB, targets, 3, 3 * MIB);

	/* 1 MiB with three, 1 MiB with three, then 1.5 MiB with two. */
	g_assert_cmpuint(kernel.calls[1].n_targets, ==, 3);
	g_assert_cmpuint(kernel.calls[2].n_targets, ==, 2);
	g_assert_cmpint(kernel.calls[2].last_fd, ==, FIRST_TARGET + 1);
	g_assert_cmpuint(kernel.calls[2].length, ==, 1536 * KIB);
	assert_target(&targets[0], DEDUPE_SAME, 0, 6 * MIB);
	assert_target(&targets[1], DEDUPE_SAME, 0, 6 * MIB);
	assert_target(&targets[2], DEDUPE_BUSY, EAGAIN, MIB);
}

static void test_a_target_that_differs_ends_it_when_it_is_the_last(void)
{
	DedupeTarget target;

	kernel_reset();
	kernel.failing_target = 0;
	kernel.failing_from = 2;
	kernel.failing_status = FILE_DEDUPE_RANGE_DIFFERS;
	g_assert_cmpuint(dedupe(10 * MIB, &target, 1, MIB), ==, 3);
	assert_target(&target, DEDUPE_DIFFERS, 0, 2 * MIB);
}

static void test_a_call_that_fails_fails_every_target_still_in(void)
{
	DedupeTarget targets[3];

	kernel_reset();
	kernel.failing_target = 0;
	kernel.failing_status = -EPERM;
	kernel.failing_call = 1;
	kernel.call_errno = EINVAL;
	g_assert_cmpuint(dedupe(10 * MIB, targets, 3, 3 * MIB), ==, 2);
	assert_target(&targets[0], DEDUPE_DENIED, EPERM, 0);
	assert_target(&targets[1], DEDUPE_INVALID, EINVAL, MIB);
	assert_target(&targets[2], DEDUPE_INVALID, EINVAL, MIB);
}

static void test_a_call_that_a_signal_broke_is_made_again(void)
{
	DedupeTarget target;

	kernel_reset();
	kernel.failing_call = 0;
	kernel.call_errno = EINTR;
	g_assert_cmpuint(dedupe(MIB, &target, 1, 0), ==, 2);
	assert_target(&target, DEDUPE_SAME, 0, MIB);
}

static void test_stop_is_obeyed_between_rounds(void)
{
	atomic_bool stop = false;
	DedupeTarget target;

	kernel_reset();
	kernel.stop = &stop;
	kernel.stop_in = 1;
	g_assert_cmpuint(dedupe(10 * MIB, &target, 1, MIB), ==, 2);
	assert_target(&target, DEDUPE_SAME, 0, 2 * MIB);

	g_assert_cmpuint(dedupe(10 * MIB, &target, 1, MIB), ==, 0);
	assert_target(&target, DEDUPE_NOT_DONE, 0, 0);
}

static void test_no_bytes_need_no_call(void)
{
	DedupeTarget target;

	kernel_reset();
	g_assert_cmpuint(dedupe(0, &target, 1, 0), ==, 0);
	assert_target(&target, DEDUPE_NOT_DONE, 0, 0);
}

static void test_every_errno_has_an_outcome(void)
{
	static const struct {
		int error;
		DedupeOutcome outcome;
	} cases[] = {
		{ EINVAL, DEDUPE_INVALID },     { EPERM, DEDUPE_DENIED },
		{ EACCES, DEDUPE_DENIED },      { EROFS, DEDUPE_READ_ONLY },
		{ EAGAIN, DEDUPE_BUSY },        { EINTR, DEDUPE_BUSY },
		{ ETXTBSY, DEDUPE_SWAP_FILE },  { ENOSPC, DEDUPE_NO_SPACE },
		{ EDQUOT, DEDUPE_NO_SPACE },    { EOPNOTSUPP, DEDUPE_UNSUPPORTED },
		{ EXDEV, DEDUPE_UNSUPPORTED },  { ENOTTY, DEDUPE_UNSUPPORTED },
		{ EISDIR, DEDUPE_UNSUPPORTED }, { EIO, DEDUPE_UNREADABLE },
		{ EUCLEAN, DEDUPE_UNREADABLE }, { EBADF, DEDUPE_FAILED },
		{ ENOMEM, DEDUPE_FAILED },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		DedupeTarget target;

		kernel_reset();
		kernel.failing_target = 0;
		kernel.failing_status = -cases[i].error;
		dedupe(MIB, &target, 1, 0);
		assert_target(&target, cases[i].outcome, cases[i].error, 0);
	}
}

#define BLOCK UINT64_C(4096)

/* Make a file of so many bytes. */
static int file_of(uint64_t size_bytes)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, (off_t)size_bytes), ==, 0);
	return fd;
}

/* Deduplicate from offset 0 of a source to @target_offset of a file, as on XFS. */
static DedupeTarget dedupe_on_xfs(uint64_t target_bytes, uint64_t target_offset, uint64_t length,
				  RelayFile *relay)
{
	g_auto(Fd) source_fd = file_of(target_bytes);
	const DedupeSource source = {
		.fd = source_fd,
		.hint_block_bytes = BLOCK,
		.relay = relay,
	};
	g_auto(Fd) target_fd = file_of(target_bytes);
	DedupeTarget target = { .fd = target_fd, .offset_bytes = target_offset };

	kernel.source_fd = source_fd;

	dedupe_range(&source, length, &target, 1, 0, NULL);
	return target;
}

static void test_on_xfs_the_first_block_is_a_request_of_its_own(void)
{
	DedupeTarget target;

	kernel_reset();
	target = dedupe_on_xfs(MIB, 0, MIB, NULL);
	assert_target(&target, DEDUPE_SAME, 0, MIB);
	g_assert_cmpuint(kernel.n_calls, ==, 2);
	g_assert_cmpuint(kernel.calls[0].length, ==, BLOCK);
	g_assert_cmpuint(kernel.calls[1].source_offset, ==, BLOCK);
	g_assert_cmpuint(kernel.calls[1].last_offset, ==, BLOCK);
	g_assert_cmpuint(kernel.calls[1].length, ==, MIB - BLOCK);

	/* A range that begins elsewhere in either file copies no hint. */
	kernel_reset();
	target = dedupe_on_xfs(MIB, BLOCK, MIB - BLOCK, NULL);
	assert_target(&target, DEDUPE_SAME, 0, MIB - BLOCK);
	g_assert_cmpuint(kernel.n_calls, ==, 1);

	/* A target that differs in its first block is not asked for again. */
	kernel_reset();
	kernel.failing_call = 0;
	kernel.call_errno = EPERM;
	target = dedupe_on_xfs(MIB, 0, MIB, NULL);
	assert_target(&target, DEDUPE_DENIED, EPERM, 0);
	g_assert_cmpuint(kernel.n_calls, ==, 1);
}

static void test_on_xfs_a_target_of_one_block_with_a_hint_goes_through_the_relay(void)
{
	static const uint64_t sizes[] = { 1, 1000, BLOCK - 1, BLOCK };

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		int relay_fd = file_of(2 * BLOCK);
		g_autoptr(RelayFile) relay = relay_file_new_take(relay_fd, BLOCK);
		struct stat stat;
		DedupeTarget target;

		kernel_reset();
		kernel.relay_fd = relay_fd;
		kernel.xflags = FS_XFLAG_COWEXTSIZE;
		target = dedupe_on_xfs(sizes[i], 0, sizes[i], relay);
		assert_target(&target, DEDUPE_SAME, 0, sizes[i]);

		g_assert_cmpuint(kernel.n_clones, ==, 1);
		g_assert_cmpint(kernel.clone.src_fd, ==, kernel.source_fd);
		g_assert_cmpuint(kernel.clone.src_offset, ==, 0);
		g_assert_cmpuint(kernel.clone.src_length, ==, sizes[i]);
		g_assert_cmpuint(kernel.clone.dest_offset, ==, BLOCK);
		g_assert_cmpuint(kernel.n_calls, ==, 1);
		g_assert_cmpint(kernel.calls[0].source_fd, ==, relay_fd);
		g_assert_cmpuint(kernel.calls[0].source_offset, ==, BLOCK);
		g_assert_cmpuint(kernel.calls[0].length, ==, sizes[i]);
		g_assert_cmpint(fstat(relay_fd, &stat), ==, 0);
		g_assert_cmpint(stat.st_size, ==, 0);
	}
}

static void test_on_xfs_a_target_of_one_block_is_left_alone_without_relay(void)
{
	DedupeTarget target;

	/* The target may have become short after the caller looked at it. */
	kernel_reset();
	kernel.xflags = FS_XFLAG_COWEXTSIZE;
	target = dedupe_on_xfs(BLOCK, 0, MIB, NULL);
	assert_target(&target, DEDUPE_BUSY, EAGAIN, 0);
	g_assert_cmpuint(kernel.n_calls, ==, 0);
}

static void test_on_xfs_nobody_else_can_give_a_hint_to_a_source_of_the_same_owner(void)
{
	DedupeTarget target;

	kernel_reset();
	target = dedupe_on_xfs(BLOCK, 0, BLOCK, NULL);
	assert_target(&target, DEDUPE_SAME, 0, BLOCK);
	g_assert_cmpuint(kernel.n_calls, ==, 1);
	g_assert_cmpuint(kernel.n_clones, ==, 0);
}

static void test_on_xfs_a_block_that_cannot_be_cloned_is_not_deduplicated(void)
{
	int relay_fd = file_of(0);
	g_autoptr(RelayFile) relay = relay_file_new_take(relay_fd, BLOCK);
	DedupeTarget target;

	kernel_reset();
	kernel.relay_fd = relay_fd;
	kernel.xflags = FS_XFLAG_COWEXTSIZE;
	kernel.clone_errno = ENOSPC;
	target = dedupe_on_xfs(BLOCK, 0, BLOCK, relay);
	assert_target(&target, DEDUPE_NO_SPACE, ENOSPC, 0);
	g_assert_cmpuint(kernel.n_calls, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/dedupe-range/rounds-hold-their-bytes-over-all-targets",
			test_rounds_hold_their_bytes_over_all_targets);
	g_test_add_func("/dedupe-range/a-target-moves-along-with-the-source",
			test_a_target_moves_along_with_the_source);
	g_test_add_func("/dedupe-range/a-target-that-fails-leaves-the-others-larger-rounds",
			test_a_target_that_fails_leaves_the_others_larger_rounds);
	g_test_add_func("/dedupe-range/a-target-that-differs-ends-it-when-it-is-the-last",
			test_a_target_that_differs_ends_it_when_it_is_the_last);
	g_test_add_func("/dedupe-range/a-call-that-fails-fails-every-target-still-in",
			test_a_call_that_fails_fails_every_target_still_in);
	g_test_add_func("/dedupe-range/a-call-that-a-signal-broke-is-made-again",
			test_a_call_that_a_signal_broke_is_made_again);
	g_test_add_func("/dedupe-range/stop-is-obeyed-between-rounds",
			test_stop_is_obeyed_between_rounds);
	g_test_add_func("/dedupe-range/no-bytes-need-no-call", test_no_bytes_need_no_call);
	g_test_add_func("/dedupe-range/every-errno-has-an-outcome",
			test_every_errno_has_an_outcome);
	g_test_add_func("/dedupe-range/on-xfs-the-first-block-is-a-request-of-its-own",
			test_on_xfs_the_first_block_is_a_request_of_its_own);
	g_test_add_func(
		"/dedupe-range/on-xfs-a-target-of-one-block-with-a-hint-goes-through-the-relay",
		test_on_xfs_a_target_of_one_block_with_a_hint_goes_through_the_relay);
	g_test_add_func(
		"/dedupe-range/on-xfs-nobody-else-can-give-a-hint-to-a-source-of-the-same-owner",
		test_on_xfs_nobody_else_can_give_a_hint_to_a_source_of_the_same_owner);
	g_test_add_func("/dedupe-range/on-xfs-a-target-of-one-block-is-left-alone-without-relay",
			test_on_xfs_a_target_of_one_block_is_left_alone_without_relay);
	g_test_add_func("/dedupe-range/on-xfs-a-block-that-cannot-be-cloned-is-not-deduplicated",
			test_on_xfs_a_block_that_cannot_be_cloned_is_not_deduplicated);

	return g_test_run();
}
