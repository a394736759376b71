/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/command-runner.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

static const int passed_on[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT };

/* Signals blocked before stay blocked for the command. */
static void block_signals(sigset_t *ret_waited, sigset_t *ret_before)
{
	sigemptyset(ret_waited);
	sigaddset(ret_waited, SIGCHLD);
	for (size_t i = 0; i < G_N_ELEMENTS(passed_on); i++)
		sigaddset(ret_waited, passed_on[i]);
	sigprocmask(SIG_BLOCK, ret_waited, ret_before);
	/* If SIGCHLD is ignored, as the caller may do, the child cannot be waited for. */
	signal(SIGCHLD, SIG_DFL);
}

G_GNUC_NORETURN static void become(char *const *words, const sigset_t *mask, int cause_fd)
{
	int cause;

	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(words[0], words);
	cause = errno;
	/* If that fails, too, the exit status has to do. */
	if (write(cause_fd, &cause, sizeof(cause)) != sizeof(cause))
		_exit(EXIT_STATUS_CANNOT_RUN);
	_exit(cause == ENOENT ? EXIT_STATUS_NO_COMMAND : EXIT_STATUS_CANNOT_RUN);
}

/* The terminal sends these to the whole group, so the command has it already. */
static bool is_of_terminal(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL &&
	       (info->si_signo == SIGINT || info->si_signo == SIGQUIT || info->si_signo == SIGHUP);
}

static bool has_ended(pid_t child, int *ret_status)
{
	return waitpid(child, ret_status, WNOHANG) == child;
}

static int wait_for(pid_t child, const sigset_t *waited)
{
	siginfo_t info;
	int status;

	while (!has_ended(child, &status)) {
		if (sigwaitinfo(waited, &info) < 0 || info.si_signo == SIGCHLD ||
		    is_of_terminal(&info))
			continue;
		kill(child, info.si_signo);
	}

	return status;
}

/* Why the command could not start; 0: it did.  Its end of the pipe is closed by then. */
static int read_cause(int fd)
{
	int cause = 0;
	ssize_t got;

	do
		got = read(fd, &cause, sizeof(cause));
	while (got < 0 && errno == EINTR);
	return got == sizeof(cause) ? cause : 0;
}

ExitStatus command_run(char *const *words, int *ret_cause)
{
	g_auto(Fd) cause_fd = -1;
	sigset_t waited, before;
	int fds[2];
	int status;
	pid_t child;

	*ret_cause = 0;
	if (pipe2(fds, O_CLOEXEC) != 0) {
		*ret_cause = errno;
		return EXIT_STATUS_CANNOT_RUN;
	}
	cause_fd = fds[0];
	block_signals(&waited, &before);
	child = fork();
	if (child == 0)
		become(words, &before, fds[1]);

	if (child < 0)
		*ret_cause = errno;
	close(fds[1]);
	if (child < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return EXIT_STATUS_CANNOT_RUN;
	}
	*ret_cause = read_cause(cause_fd);
	status = wait_for(child, &waited);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return (ExitStatus)(WIFSIGNALED(status) ? EXIT_STATUS_SIGNAL + WTERMSIG(status)
						: WEXITSTATUS(status));
}
