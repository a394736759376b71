/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/timed-look.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that hangs must not keep dedupctl's output open, since its reader would wait. */
static void let_go_of_output(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(nothing, fd);
}

pid_t timed_look_start(int *ret_fd)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;

	child = fork();
	if (child == 0) {
		let_go_of_output();
		fd_close(&ends[0]);
		*ret_fd = ends[1];
		return 0;
	}
	fd_close(&ends[1]);
	*ret_fd = ends[0];
	if (child < 0)
		fd_close(ret_fd);
	return child;
}

bool timed_look_wait(int fd)
{
	struct pollfd ended = { .fd = fd, .events = POLLIN };
	int n_ready;

	do
		n_ready = poll(&ended, 1, TIMED_LOOK_MSEC);
	while (n_ready < 0 && errno == EINTR);
	return n_ready > 0;
}

bool timed_look_end(pid_t child, bool hangs)
{
	int status = 0;

	if (hangs) {
		kill(child, SIGKILL);
		return false;
	}
	waitpid(child, &status, 0);
	return status == 0;
}
