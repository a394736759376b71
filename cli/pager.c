/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/pager.h"

#include "cli/message.h"
#include "cli/terminal.h"
#include "kernel-ioctl/fd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Quits where all fits, is ended by Ctrl-C, keeps colours and what is on the screen, cuts lines. */
#define LESS_OPTIONS "FRSXMK"

struct Pager {
	GPid pid;
};

/* A command for a shell; NULL: none is wanted, or to be had.  To be freed with g_free(). */
static char *find_command(void)
{
	static const char *const programs[] = { "pager", "less", "more" };
	const char *wanted = g_getenv("DEDUPCTL_PAGER");

	if (!wanted)
		wanted = g_getenv("PAGER");
	if (wanted)
		return wanted[0] != '\0' && strcmp(wanted, "cat") != 0 ? g_strdup(wanted) : NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(programs); i++) {
		g_autofree char *path = g_find_program_in_path(programs[i]);

		if (path)
			return g_strdup(programs[i]);
	}
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
	g_autofree char *command = terminal_can_page() ? find_command() : NULL;
	g_auto(Fd) fd = -1;
	Pager *pager;
	GPid pid;

	if (!command || !spawn(command, &pid, &fd))
		return NULL;

	pager = g_new0(Pager, 1);
	pager->pid = pid;
	terminal_keep();
	message_hold();
	/* It cannot fail: both are open, and who has closed standard output has no terminal. */
	dup2(fd, STDOUT_FILENO);
	return pager;
}

void pager_finish(Pager *pager)
{
	if (!pager)
		return;

	/* Who has seen enough ends it before all is printed, which is no failure. */
	fflush(stdout);
	clearerr(stdout);
	terminal_give_back();
	while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
		;
	g_spawn_close_pid(pager->pid);
	message_release();
	g_free(pager);
}
