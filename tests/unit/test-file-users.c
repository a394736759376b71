/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/file-users.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASKED 20000

/* A file that only the test has open, for reading. */
static int open_alone(Scratch *scratch)
{
	int fd = scratch_create(scratch, "file", 8192, 1);

	fd_close(&fd);
	fd = openat(scratch->fd, "file", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	g_assert_cmpint(fd, >=, 0);
	return fd;
}

static void test_a_file_that_nobody_else_has_open_is_told_apart(void)
{
	static const struct {
		int flags;
		FileUsers users, writers;
	} others[] = {
		{ O_RDONLY, FILE_USERS_OTHERS, FILE_USERS_NONE },
		{ O_WRONLY, FILE_USERS_OTHERS, FILE_USERS_OTHERS },
		{ O_RDWR, FILE_USERS_OTHERS, FILE_USERS_OTHERS },
		{ O_PATH, FILE_USERS_NONE, FILE_USERS_NONE },
	};
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = open_alone(scratch);

	for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
		int other = openat(scratch->fd, "file", others[i].flags | O_CLOEXEC);

		g_assert_cmpint(other, >=, 0);
		g_assert_cmpint(file_users_ask(fd, false), ==, others[i].users);
		g_assert_cmpint(file_users_ask(fd, true), ==, others[i].writers);
		fd_close(&other);
		g_assert_cmpint(file_users_ask(fd, false), ==, FILE_USERS_NONE);
		g_assert_cmpint(file_users_ask(fd, true), ==, FILE_USERS_NONE);
	}
}

static void test_a_mapping_keeps_a_file_open(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = open_alone(scratch);
	int other = openat(scratch->fd, "file", O_RDWR | O_CLOEXEC);
	void *mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0);

	g_assert_true(mapped != MAP_FAILED);
	fd_close(&other);
	g_assert_cmpint(file_users_ask(fd, false), ==, FILE_USERS_OTHERS);
	munmap(mapped, 4096);
	g_assert_cmpint(file_users_ask(fd, false), ==, FILE_USERS_NONE);
}

static void test_nothing_stays_of_a_lease(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = open_alone(scratch);
	g_auto(Fd) other = -1;

	g_assert_cmpint(file_users_ask(fd, false), ==, FILE_USERS_NONE);
	g_assert_cmpint(fcntl(fd, F_GETLEASE), ==, F_UNLCK);
	other = openat(scratch->fd, "file", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	g_assert_cmpint(other, >=, 0);
}

/* Open the file for writing again and again.  The exit status tells whether an open failed. */
static pid_t start_opener(Scratch *scratch)
{
	pid_t opener = fork();

	g_assert_cmpint(opener, >=, 0);
	if (opener > 0)
		return opener;

	for (;;) {
		int fd = openat(scratch->fd, "file", O_RDWR | O_CLOEXEC);

		if (fd < 0)
			_exit(1);
		fd_close(&fd);
		/* On one processor the process would only sleep while it has the file open. */
		usleep(1);
	}
}

static void test_who_opens_the_file_meanwhile_waits_and_nobody_is_ended(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = open_alone(scratch);
	pid_t opener = start_opener(scratch);
	unsigned n_alone = 0;
	int status;

	for (unsigned i = 0; i < ASKED || n_alone == 0; i++)
		n_alone += file_users_ask(fd, false) == FILE_USERS_NONE;

	g_assert_cmpint(kill(opener, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(opener, &status, 0), ==, opener);
	g_assert_true(WIFSIGNALED(status));
}

static void test_who_may_not_ask_is_told_so(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_auto(Fd) fd = -1;

	if (geteuid() != 0) {
		g_test_skip("only root can give a file away");
		return;
	}
	fd = open_alone(scratch);
	g_assert_cmpint(fchown(fd, 65533, 65533), ==, 0);
	g_assert_cmpint(seteuid(65534), ==, 0);
	g_assert_cmpint(file_users_ask(fd, false), ==, FILE_USERS_UNKNOWN);
	g_assert_cmpint(seteuid(0), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/file-users/a_file_that_nobody_else_has_open_is_told_apart",
			test_a_file_that_nobody_else_has_open_is_told_apart);
	g_test_add_func("/file-users/a_mapping_keeps_a_file_open",
			test_a_mapping_keeps_a_file_open);
	g_test_add_func("/file-users/nothing_stays_of_a_lease", test_nothing_stays_of_a_lease);
	g_test_add_func("/file-users/who_opens_the_file_meanwhile_waits_and_nobody_is_ended",
			test_who_opens_the_file_meanwhile_waits_and_nobody_is_ended);
	g_test_add_func("/file-users/who_may_not_ask_is_told_so", test_who_may_not_ask_is_told_so);
	return g_test_run();
}
