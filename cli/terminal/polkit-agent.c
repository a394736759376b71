/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/polkit-agent.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* For who cannot be registered: pkttyagent says so and ends. */
#define PATIENCE_MSEC 10000

G_GNUC_NORETURN static void become_agent(const char *program, int ready_fd)
{
	g_autofree char *ready = g_strdup_printf("%d", ready_fd);

	fcntl(ready_fd, F_SETFD, 0);
	execl(program, program, "--notify-fd", ready, "--fallback", NULL);
	_exit(EXIT_FAILURE);
}

/* The agent closes its end when it is registered, or when it ends. */
static void wait_until_ready(int fd)
{
	struct pollfd ready = { .fd = fd };

	while (poll(&ready, 1, PATIENCE_MSEC) < 0 && errno == EINTR)
		;
}

bool polkit_agent_start(PolkitAgent *agent)
{
	g_autofree char *program = g_find_program_in_path("pkttyagent");
	g_auto(Fd) fd = -1;
	int ends[2];

	if (!program || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) ||
	    pipe2(ends, O_CLOEXEC) != 0)
		return false;

	agent->process = fork();
	if (agent->process == 0)
		become_agent(program, ends[1]);
	fd = ends[0];
	fd_close(&ends[1]);
	if (agent->process < 0) {
		agent->process = 0;
		return false;
	}

	wait_until_ready(fd);
	return true;
}

void polkit_agent_stop(PolkitAgent *agent)
{
	if (agent->process == 0)
		return;

	/* It may be stopped, as it reads from the terminal. */
	kill(agent->process, SIGTERM);
	kill(agent->process, SIGCONT);
	waitpid(agent->process, NULL, 0);
	agent->process = 0;
}
