/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/open-file.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static OpenOutcome try_open(int dir_fd, const char *name, int *ret_errno)
{
	g_auto(Fd) fd = -1;
	OpenOutcome outcome = open_file_at(dir_fd, name, &fd, ret_errno);

	g_assert_true((outcome == OPEN_OPENED) == (fd >= 0));
	return outcome;
}

static void assert_outcome(int dir_fd, const char *name, OpenOutcome expected, int expected_errno)
{
	int error = -1;

	g_assert_cmpint(try_open(dir_fd, name, &error), ==, expected);
	g_assert_cmpint(error, ==, expected_errno);
}

static void test_a_regular_file_is_opened_for_reading_only(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = -1;
	int error = -1;
	char byte;

	close(scratch_create(scratch, "file", 10000, 1));
	g_assert_cmpint(open_file_at(scratch->fd, "file", &fd, &error), ==, OPEN_OPENED);
	g_assert_cmpint(error, ==, 0);
	g_assert_cmpint(fcntl(fd, F_GETFL) & O_ACCMODE, ==, O_RDONLY);
	g_assert_cmpint(fcntl(fd, F_GETFL) & O_NOATIME, ==, O_NOATIME);
	g_assert_cmpint(fcntl(fd, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
	g_assert_cmpint(pread(fd, &byte, 1, 9999), ==, 1);
}

static void test_what_is_no_regular_file_is_refused_without_waiting(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	g_auto(Fd) listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(mkfifoat(scratch->fd, "fifo", 0600), ==, 0);
	g_assert_cmpint(symlinkat("fifo", scratch->fd, "symlink"), ==, 0);
	g_assert_cmpint(symlinkat("loop", scratch->fd, "loop"), ==, 0);
	g_assert_cmpint(mkdirat(scratch->fd, "directory", 0700), ==, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/socket",
		 scratch->fd);
	g_assert_cmpint(bind(listener, (struct sockaddr *)&address, sizeof(address)), ==, 0);

	assert_outcome(scratch->fd, "fifo", OPEN_NOT_REGULAR, 0);
	assert_outcome(scratch->fd, "symlink", OPEN_NOT_REGULAR, 0);
	assert_outcome(scratch->fd, "loop", OPEN_NOT_REGULAR, 0);
	assert_outcome(scratch->fd, "directory", OPEN_NOT_REGULAR, 0);
	assert_outcome(scratch->fd, "socket", OPEN_NOT_REGULAR, 0);
	assert_outcome(AT_FDCWD, "/dev/null", OPEN_NOT_REGULAR, 0);
}

static void test_a_name_that_leads_nowhere_is_gone(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) file = scratch_create(scratch, "file", 1, 1);

	assert_outcome(scratch->fd, "missing", OPEN_GONE, ENOENT);
	assert_outcome(file, "below-a-file", OPEN_GONE, ENOTDIR);
	assert_outcome(scratch->fd, "file/below", OPEN_GONE, ENOTDIR);
}

typedef struct {
	int dir_fd;
	atomic_bool stop;
} Swapper;

static gpointer swap_names(gpointer data)
{
	Swapper *swapper = data;

	while (!atomic_load(&swapper->stop))
		g_assert_cmpint(renameat2(swapper->dir_fd, "file", swapper->dir_fd, "fifo",
					  RENAME_EXCHANGE),
				==, 0);
	return NULL;
}

static void test_a_fifo_swapped_in_is_never_waited_for(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	Swapper swapper = { .dir_fd = scratch->fd };
	unsigned n_opened = 0;
	GThread *thread;

	close(scratch_create(scratch, "file", 1, 1));
	g_assert_cmpint(mkfifoat(scratch->fd, "fifo", 0600), ==, 0);
	thread = g_thread_new("swapper", swap_names, &swapper);
	for (int i = 0; i < 5000; i++) {
		int error;
		OpenOutcome outcome = try_open(scratch->fd, "file", &error);

		g_assert_true(outcome == OPEN_OPENED || outcome == OPEN_NOT_REGULAR);
		n_opened += outcome == OPEN_OPENED;
	}
	atomic_store(&swapper.stop, true);
	g_thread_join(thread);

	g_test_message("%u of 5000 opened", n_opened);
}

/* In a child: report through @ready_fd whether the lease is held, and hold it until @end_fd ends. */
G_GNUC_NORETURN static void hold_lease(const char *path, int ready_fd, int end_fd)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char is_held;

	/* The kernel tells the holder with this signal. */
	signal(SIGIO, SIG_IGN);
	is_held = fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
	if (write(ready_fd, &is_held, 1) != 1 || read(end_fd, &is_held, 1) < 0)
		_exit(1);
	_exit(0);
}

static void test_a_leased_file_is_answered_at_once(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autofree char *path = scratch_path(scratch, "file");
	int64_t start;
	int ready[2], end[2];
	char is_held = 0;
	pid_t child;

	close(scratch_create(scratch, "file", 10, 1));
	g_assert_cmpint(pipe2(ready, O_CLOEXEC), ==, 0);
	g_assert_cmpint(pipe2(end, O_CLOEXEC), ==, 0);
	child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		close(end[1]);
		hold_lease(path, ready[1], end[0]);
	}
	g_assert_cmpint(read(ready[0], &is_held, 1), ==, 1);

	if (is_held) {
		start = g_get_monotonic_time();
		assert_outcome(scratch->fd, "file", OPEN_LEASED, EAGAIN);
		g_assert_cmpint(g_get_monotonic_time() - start, <, G_USEC_PER_SEC);
	} else {
		g_test_skip("no leases on this filesystem");
	}

	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(end[i]);
	}
	g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
}

static void open_as_nobody(void *data)
{
	Scratch *scratch = data;

	scratch_become_nobody();
	assert_outcome(scratch->fd, "secret", OPEN_DENIED, EACCES);
	assert_outcome(scratch->fd, "readable", OPEN_OPENED, 0);
}

static void test_permission_decides_and_not_who_may_set_noatime(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) secret = scratch_create(scratch, "secret", 1, 1);

	close(scratch_create(scratch, "readable", 1, 1));
	g_assert_cmpint(fchmod(secret, 0), ==, 0);
	scratch_run_in_child(open_as_nobody, scratch);
}

static void test_other_filesystems_have_no_handles_here(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	FileId id = { .inode = 1 };
	int fd = 0, error = 0;

	g_assert_false(open_file_by_id_works(scratch->fd, FS_KIND_OTHER));
	g_assert_cmpint(open_file_by_id(scratch->fd, FS_KIND_OTHER, &id, &fd, &error), ==,
			OPEN_FAILED);
	g_assert_cmpint(fd, ==, -1);
	g_assert_cmpint(error, ==, EOPNOTSUPP);
}

/* Count how often a file is opened, by inotify; O_PATH does not count. */
static bool was_opened(int watch)
{
	char events[4096];

	return read(watch, events, sizeof(events)) > 0;
}

static void assert_named(const Scratch *scratch, const char *name, OpenOutcome expected,
			 bool is_opened)
{
	g_autofree char *path = scratch_path(scratch, name);
	g_auto(Fd) watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	g_auto(Fd) fd = -1;
	struct stat named, opened;
	int error;

	inotify_add_watch(watch, path, IN_OPEN);
	g_assert_cmpint(open_file_or_directory(path, &fd, &error), ==, expected);
	g_assert_true((fd >= 0) == is_opened);
	g_assert_true(was_opened(watch) == is_opened);
	if (!is_opened)
		return;
	g_assert_cmpint(stat(path, &named), ==, 0);
	g_assert_cmpint(fstat(fd, &opened), ==, 0);
	g_assert_cmpuint(named.st_ino, ==, opened.st_ino);
	g_assert_cmpint(fcntl(fd, F_GETFL) & O_ACCMODE, ==, O_RDONLY);
}

static void test_only_a_directory_or_regular_file_that_is_named_is_opened(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	close(scratch_create(scratch, "file", 1, 1));
	g_assert_cmpint(mkdirat(scratch->fd, "directory", 0755), ==, 0);
	g_assert_cmpint(mkfifoat(scratch->fd, "fifo", 0644), ==, 0);
	g_assert_cmpint(symlinkat("file", scratch->fd, "to-file"), ==, 0);
	g_assert_cmpint(symlinkat("directory", scratch->fd, "to-directory"), ==, 0);
	g_assert_cmpint(symlinkat("fifo", scratch->fd, "to-fifo"), ==, 0);
	g_assert_cmpint(symlinkat("/dev/null", scratch->fd, "to-device"), ==, 0);
	g_assert_cmpint(symlinkat("nothing", scratch->fd, "to-nothing"), ==, 0);
	assert_named(scratch, "file", OPEN_OPENED, true);
	assert_named(scratch, "directory", OPEN_OPENED, true);
	assert_named(scratch, "to-file", OPEN_OPENED, true);
	assert_named(scratch, "to-directory", OPEN_OPENED, true);
	assert_named(scratch, "fifo", OPEN_NOT_REGULAR, false);
	assert_named(scratch, "to-fifo", OPEN_NOT_REGULAR, false);
	assert_named(scratch, "to-device", OPEN_NOT_REGULAR, false);
	assert_named(scratch, "to-nothing", OPEN_GONE, false);
	assert_named(scratch, "nothing", OPEN_GONE, false);
	assert_named(scratch, "file/below", OPEN_GONE, false);
}

static void open_without_proc(void *data)
{
	const Scratch *scratch = data;
	g_auto(Fd) file = -1;
	g_auto(Fd) directory = -1;
	int error;

	g_assert_cmpint(chroot(scratch->path), ==, 0);
	assert_outcome(scratch->fd, "file", OPEN_OPENED, 0);
	assert_outcome(scratch->fd, "missing", OPEN_GONE, ENOENT);
	assert_outcome(scratch->fd, "fifo", OPEN_NOT_REGULAR, 0);
	g_assert_cmpint(open_file_or_directory("/file", &file, &error), ==, OPEN_OPENED);
	g_assert_cmpint(fcntl(file, F_GETFL) & O_ACCMODE, ==, O_RDONLY);
	g_assert_cmpint(open_file_or_directory("/", &directory, &error), ==, OPEN_OPENED);
	/* Direct I/O is done without if it cannot be had. */
	g_assert_cmpint(open_file_direct(file), ==, -1);
}

static void test_without_proc_a_name_is_opened_again(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	if (geteuid() != 0) {
		g_test_skip("chroot needs root");
		return;
	}
	close(scratch_create(scratch, "file", 1, 1));
	g_assert_cmpint(mkfifoat(scratch->fd, "fifo", 0600), ==, 0);
	scratch_run_in_child(open_without_proc, scratch);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/open-file/a-regular-file-is-opened-for-reading-only",
			test_a_regular_file_is_opened_for_reading_only);
	g_test_add_func("/open-file/what-is-no-regular-file-is-refused-without-waiting",
			test_what_is_no_regular_file_is_refused_without_waiting);
	g_test_add_func("/open-file/a-name-that-leads-nowhere-is-gone",
			test_a_name_that_leads_nowhere_is_gone);
	g_test_add_func("/open-file/a-fifo-swapped-in-is-never-waited-for",
			test_a_fifo_swapped_in_is_never_waited_for);
	g_test_add_func("/open-file/a-leased-file-is-answered-at-once",
			test_a_leased_file_is_answered_at_once);
	g_test_add_func("/open-file/permission-decides-and-not-who-may-set-noatime",
			test_permission_decides_and_not_who_may_set_noatime);
	g_test_add_func("/open-file/without-proc-a-name-is-opened-again",
			test_without_proc_a_name_is_opened_again);
	g_test_add_func("/open-file/only-a-directory-or-regular-file-that-is-named-is-opened",
			test_only_a_directory_or_regular_file_that_is_named_is_opened);
	g_test_add_func("/open-file/other-filesystems-have-no-handles-here",
			test_other_filesystems_have_no_handles_here);

	return g_test_run();
}
