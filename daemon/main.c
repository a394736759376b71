/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/once.h"
#include "daemon/pass-settings.h"

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

/* All that is wrong with the configuration. */
static void write_lines(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++)
		fprintf(stderr, "dedupd: %s\n", *line);
}

int main(int argc, char **argv)
{
	g_auto(Settings) settings = { 0 };
	g_autoptr(Config) nothing = config_new();
	g_autoptr(Config) config = NULL;
	g_autoptr(GError) error = NULL;
	bool done;

	setlocale(LC_ALL, "");
	g_log_set_writer_func(write_message, &settings.verbose, NULL);
	if (!pass_settings_make(nothing, argv, NULL, &settings, &done, &error)) {
		fprintf(stderr, "dedupd: %s\nTry 'dedupd --help'.\n", error->message);
		return EXIT_STATUS_USAGE;
	}
	if (done)
		return EXIT_STATUS_DONE;

	config = pass_settings_read_config(&settings, &error);
	if (!config) {
		write_lines(error->message);
		return EXIT_STATUS_USAGE;
	}

	raise_descriptor_limit();
	block_signals();
	return once_run(&settings, config, argv);
}
