/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/bench/watch.h"

#include "common/threads/thread.h"
#include "tests/bench/bench-store.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_USEC        (G_USEC_PER_SEC / 20)
#define PROGRESS_SECONDS 5.0

struct Watch {
	/* Set at creation, never changed. */
	char *directory;
	atomic_bool *stop;
	GThread *thread;
	double began;

	/* Thread: the watch's. */
	double told;

	/* Guarded by mutex. */
	GMutex mutex;
	GCond ended;
	bool has_ended;
	const char *phase;
	const char *step;
	double done;
	double stop_at;   /* 0: not wanted */
	double raised_at; /* 0: not yet */
	uint64_t peak_own_bytes;
	uint64_t peak_disk_bytes;
};

static uint64_t own_bytes(void)
{
	static const char key[] = "\nRssAnon:";
	g_autofree char *text = NULL;
	const char *line = NULL;

	if (g_file_get_contents("/proc/self/status", &text, NULL, NULL))
		line = strstr(text, key);
	return line ? g_ascii_strtoull(line + strlen(key), NULL, 10) << 10 : 0;
}

/* The space of all files in @path; with @only_unnamed, of those without a name. */
static uint64_t disk_bytes(const char *path, dev_t device, bool only_unnamed)
{
	g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
	uint64_t bytes = 0;
	const char *name;

	while (directory && (name = g_dir_read_name(directory))) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		struct stat st;

		if (stat(file, &st) < 0 || !S_ISREG(st.st_mode) || st.st_dev != device ||
		    (only_unnamed && st.st_nlink > 0))
			continue;
		bytes += (uint64_t)st.st_blocks * 512;
	}

	return bytes;
}

/* Files that are mapped and closed do not count: the object table, of 8 bytes per object. */
static uint64_t all_disk_bytes(const char *directory)
{
	struct stat st;

	if (stat(directory, &st) < 0)
		return 0;
	return disk_bytes(directory, st.st_dev, false) +
	       disk_bytes("/proc/self/fd", st.st_dev, true);
}

static void tell(Watch *watch, uint64_t disk)
{
	double now = bench_store_seconds();

	if (now - watch->told < PROGRESS_SECONDS)
		return;
	watch->told = now;
	fprintf(stderr, "%6.0f s  %s %.1f %%  %s  %" G_GUINT64_FORMAT " MiB on disk\n",
		now - watch->began, watch->phase, 100 * watch->done, watch->step, disk >> 20);
}

static gpointer run(gpointer data)
{
	Watch *watch = data;

	g_mutex_lock(&watch->mutex);
	while (!watch->has_ended) {
		uint64_t disk = all_disk_bytes(watch->directory);

		watch->peak_own_bytes = MAX(watch->peak_own_bytes, own_bytes());
		watch->peak_disk_bytes = MAX(watch->peak_disk_bytes, disk);
		if (watch->stop_at > 0 && bench_store_seconds() >= watch->stop_at) {
			watch->stop_at = 0;
			watch->raised_at = bench_store_seconds();
			atomic_store(watch->stop, true);
		}
		tell(watch, disk);
		g_cond_wait_until(&watch->ended, &watch->mutex, g_get_monotonic_time() + LOOK_USEC);
	}
	g_mutex_unlock(&watch->mutex);

	return NULL;
}

Watch *watch_new(const char *directory, atomic_bool *stop)
{
	Watch *watch = g_new0(Watch, 1);
	GError *error = NULL;

	watch->directory = g_strdup(directory);
	watch->stop = stop;
	watch->began = bench_store_seconds();
	watch->phase = "";
	watch->step = "";
	watch->told = watch->began;
	g_mutex_init(&watch->mutex);
	g_cond_init(&watch->ended);
	watch->thread = thread_new("watch", run, watch, &error);
	bench_store_check(watch->thread, &error);

	return watch;
}

void watch_free(Watch *watch)
{
	g_mutex_lock(&watch->mutex);
	watch->has_ended = true;
	g_cond_signal(&watch->ended);
	g_mutex_unlock(&watch->mutex);
	g_thread_join(watch->thread);
	g_mutex_clear(&watch->mutex);
	g_cond_clear(&watch->ended);
	g_free(watch->directory);
	g_free(watch);
}

void watch_step(Watch *watch, const char *step)
{
	g_mutex_lock(&watch->mutex);
	watch->step = step;
	g_mutex_unlock(&watch->mutex);
}

void watch_progress(Watch *watch, const char *phase, double done)
{
	g_mutex_lock(&watch->mutex);
	watch->phase = phase;
	watch->step = "";
	watch->done = done;
	g_mutex_unlock(&watch->mutex);
}

void watch_stop_after(Watch *watch, double seconds)
{
	g_mutex_lock(&watch->mutex);
	watch->stop_at = bench_store_seconds() + seconds;
	watch->raised_at = 0;
	g_mutex_unlock(&watch->mutex);
}

double watch_since_stop(Watch *watch)
{
	double since = 0;

	g_mutex_lock(&watch->mutex);
	if (watch->raised_at > 0)
		since = bench_store_seconds() - watch->raised_at;
	watch->stop_at = 0;
	watch->raised_at = 0;
	g_mutex_unlock(&watch->mutex);

	return since;
}

static uint64_t read_guarded(Watch *watch, const uint64_t *number)
{
	uint64_t value;

	g_mutex_lock(&watch->mutex);
	value = *number;
	g_mutex_unlock(&watch->mutex);

	return value;
}

uint64_t watch_peak_own_bytes(Watch *watch)
{
	return read_guarded(watch, &watch->peak_own_bytes);
}

uint64_t watch_peak_disk_bytes(Watch *watch)
{
	return read_guarded(watch, &watch->peak_disk_bytes);
}
