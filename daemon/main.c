/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/once.h"
#include "daemon/options.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

/* A walk holds a descriptor per level. */
#define DESCRIPTORS_MAX 65536

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;

	limit.rlim_cur = MIN(limit.rlim_max, DESCRIPTORS_MAX);
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* SIGINT and SIGTERM come through the event loop, in this thread and none that it starts. */
static void block_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static GLogWriterOutput write_message(GLogLevelFlags level, const GLogField *fields, gsize n_fields,
				      gpointer data)
{
	bool is_verbose = *(const bool *)data;

	if (level & (G_LOG_LEVEL_DEBUG | G_LOG_LEVEL_INFO) && !is_verbose)
		return G_LOG_WRITER_HANDLED;

	for (gsize i = 0; i < n_fields; i++)
		if (g_strcmp0(fields[i].key, "MESSAGE") == 0)
			fprintf(stderr, "dedupd: %s%s\n",
				level & G_LOG_LEVEL_WARNING ? "warning: " : "",
				(const char *)fields[i].value);

	return G_LOG_WRITER_HANDLED;
}

int main(int argc, char **argv)
{
	g_auto(GStrv) arguments = g_strdupv(argv);
	g_auto(Settings) settings = { 0 };
	g_autoptr(GError) error = NULL;
	bool done;

	setlocale(LC_ALL, "");
	g_log_set_writer_func(write_message, &settings.verbose, NULL);
	if (!options_parse(&arguments, &settings, &done, &error)) {
		fprintf(stderr, "dedupd: %s\nTry 'dedupd --help'.\n", error->message);
		return EXIT_STATUS_USAGE;
	}
	if (done)
		return EXIT_STATUS_DONE;

	raise_descriptor_limit();
	block_signals();
	return once_run(&settings);
}
