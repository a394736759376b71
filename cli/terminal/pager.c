/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/pager.h"

#include "cli/terminal/message.h"
#include "cli/terminal/terminal.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* less quits if all fits, ends on Ctrl-C, keeps colours and the screen's contents, and cuts lines. */
#define LESS_OPTIONS "FRSXMK"

struct Pager {
	GPid pid;
};

/* The user may have root's rights for this program alone, so do not offer a shell. */
static bool has_lent_rights(void)
{
	return geteuid() == 0 && (g_getenv("SUDO_UID") || g_getenv("PKEXEC_UID"));
}

static bool is_installed(const char *command)
{
	g_auto(GStrv) words = NULL;
	g_autofree char *path = NULL;

	/* The shell interprets anything that is not a list of words. */
	if (!g_shell_parse_argv(command, NULL, &words, NULL))
		return true;
	path = g_find_program_in_path(words[0]);
	return path;
}

/* A command for a shell; NULL: none is wanted, or available. */
static const char *find_command(void)
{
	/* Only the first one can be told to start no other programs. */
	static const char *const programs[] = { "less", "pager", "more" };
	size_t n_programs = has_lent_rights() ? 1 : G_N_ELEMENTS(programs);
	const char *own = g_getenv("DEDUPCTL_PAGER");
	const char *wanted = own ? own : g_getenv("PAGER");

	if (wanted && (wanted[0] == '\0' || strcmp(wanted, "cat") == 0))
		return NULL;
	if (wanted && !has_lent_rights() && is_installed(wanted))
		return wanted;

	for (size_t i = 0; i < n_programs; i++)
		if (is_installed(programs[i]))
			return programs[i];
	return NULL;
}

static char **make_environment(void)
{
	const char *less = g_getenv("DEDUPCTL_LESS");
	char **environment = g_get_environ();

	environment = g_environ_setenv(environment, "LESS", less ? less : LESS_OPTIONS, true);
	environment = g_environ_setenv(environment, "LESSSECURE", "1", true);
	if (g_get_charset(NULL))
		environment = g_environ_setenv(environment, "LESSCHARSET", "utf-8", true);
	return environment;
}

/* Its standard input is *@ret_fd. */
static bool spawn(const char *command, GPid *ret_pid, int *ret_fd)
{
	const char *const words[] = { "/bin/sh", "-c", command, NULL };
	g_auto(GStrv) environment = make_environment();

	return g_spawn_async_with_pipes(NULL, (char **)words, environment,
					G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, ret_pid, ret_fd,
					NULL, NULL, NULL);
}

Pager *pager_start(void)
{
	const char *command = terminal_can_page() ? find_command() : NULL;
	g_auto(Fd) fd = -1;
	Pager *pager;
	GPid pid;

	if (!command || !spawn(command, &pid, &fd))
		return NULL;

	pager = g_new0(Pager, 1);
	pager->pid = pid;
	terminal_keep();
	message_hold();
	/* It cannot fail: both are open, since a closed standard output is no terminal. */
	dup2(fd, STDOUT_FILENO);
	return pager;
}

void pager_finish(Pager *pager)
{
	if (!pager)
		return;

	/* The user may end the pager before all is printed, which is no failure. */
	signal(SIGPIPE, SIG_IGN);
	fflush(stdout);
	clearerr(stdout);
	terminal_give_back();
	while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
		;
	g_spawn_close_pid(pager->pid);
	message_release();
	g_free(pager);
}
