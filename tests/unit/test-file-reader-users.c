/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/file-reader.h"

#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

static unsigned n_leases_asked;

/* fcntl() of this program: counts the leases. */
int fcntl(int fd, int command, ...)
{
	va_list arguments;
	long argument;

	va_start(arguments, command);
	argument = va_arg(arguments, long);
	va_end(arguments);

	n_leases_asked += command == F_SETLEASE && argument != F_UNLCK;
	return (int)syscall(SYS_fcntl, fd, command, argument);
}

/* While a lease is held, an open(2) of another process with O_NONBLOCK fails. */
static void test_the_kernel_is_asked_once_per_file_who_has_it_open(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(Throttle) throttle = throttle_new(0, NULL);
	atomic_bool stop = false;
	g_autoptr(FileReader) alone = NULL;
	g_autoptr(FileReader) used = NULL;
	g_auto(Fd) other = -1;
	int fd;

	fd_close(&(int){ scratch_create(scratch, "file", MIB, 1) });
	fd = openat(scratch->fd, "file", O_RDONLY | O_CLOEXEC);
	alone = file_reader_new_take(fd, MIB, throttle, &stop);
	n_leases_asked = 0;
	g_assert_false(file_reader_has_other_users(alone, false));
	other = openat(scratch->fd, "file", O_RDWR | O_CLOEXEC);
	for (unsigned i = 0; i < 100; i++)
		g_assert_false(file_reader_has_other_users(alone, false));
	g_assert_cmpuint(n_leases_asked, ==, 1);

	fd = openat(scratch->fd, "file", O_RDONLY | O_CLOEXEC);
	used = file_reader_new_take(fd, MIB, throttle, &stop);
	for (unsigned i = 0; i < 100; i++)
		g_assert_true(file_reader_has_other_users(used, true));
	g_assert_cmpuint(n_leases_asked, ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/file-reader-users/the-kernel-is-asked-once-per-file-who-has-it-open",
			test_the_kernel_is_asked_once_per_file_who_has_it_open);

	return g_test_run();
}
