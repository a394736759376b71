/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/report/journal.h"
#include "daemon/service/once.h"
#include "daemon/service/service.h"
#include "daemon/settings/pass-settings.h"

#include <jansson.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

/* A walk holds a descriptor per level. */
#define DESCRIPTORS_MAX 65536

/* The blocks that a pass allocates often are smaller. */
#define HEAP_BLOCK_BYTES_MAX (4 << 20)

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;

	limit.rlim_cur = MIN(limit.rlim_max, DESCRIPTORS_MAX);
	setrlimit(RLIMIT_NOFILE, &limit);
}

#ifdef __GLIBC__

/*
 * Return large blocks to the system at once.  By default the heap keeps up to 64 MiB of them after
 * the first one.  A caller of the bus could send messages of 32 MiB, and the heap would keep two.
 */
static void bound_heap(void)
{
	mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK_BYTES_MAX);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BLOCK_BYTES_MAX);
}

#else

/* musl does so. */
static void bound_heap(void)
{
}

#endif

/* Block SIGINT and SIGTERM in all threads: they come through the event loop. */
static void block_signals(bool is_service)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	if (is_service)
		sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Write all errors of the configuration. */
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
	/* Without memory the program ends, rather than print half a report. */
	json_set_alloc_funcs(g_malloc, g_free);
	g_log_set_writer_func(journal_write, &settings.verbose, NULL);
	if (!pass_settings_make(nothing, argv, NULL, &settings, &done, &error)) {
		fprintf(stderr, "dedupd: %s\nTry 'dedupd --help'.\n", error->message);
		return EXIT_STATUS_USAGE;
	}
	if (done)
		return EXIT_STATUS_DONE;

	config = config_read_chosen(settings.config, &error);
	if (!config) {
		write_lines(error->message);
		return EXIT_STATUS_USAGE;
	}

	raise_descriptor_limit();
	block_signals(!settings.once);
	if (!settings.once)
		bound_heap();
	return settings.once ? once_run(&settings, config, argv)
			     : service_run(&settings, g_steal_pointer(&config), argv);
}
