/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/checkpoint.h"

#include "common/threads/thread.h"

#define LOOK_AT_STOP_USEC (G_USEC_PER_SEC / 20)

/* Interrupts a checkpoint, which is one statement, from another thread. */
typedef struct {
	sqlite3 *handle;
	const atomic_bool *stop;
	GMutex mutex;
	GCond ended;
	bool has_ended; /* guarded by mutex */
} Watch;

static gpointer run_watch(gpointer data)
{
	Watch *watch = data;

	g_mutex_lock(&watch->mutex);
	while (!watch->has_ended) {
		/* Repeat the interrupt: SQLite ignores one that comes before the statement begins. */
		if (atomic_load(watch->stop))
			sqlite3_interrupt(watch->handle);
		g_cond_wait_until(&watch->ended, &watch->mutex,
				  g_get_monotonic_time() + LOOK_AT_STOP_USEC);
	}
	g_mutex_unlock(&watch->mutex);

	return NULL;
}

static bool run(Database *database, GError **error)
{
	g_autoptr(sqlite3_stmt) checkpoint = NULL;
	int code;

	checkpoint = database_prepare(database, "PRAGMA wal_checkpoint(TRUNCATE)", error);
	if (!checkpoint)
		return false;
	do {
		code = sqlite3_step(checkpoint);
	} while (code == SQLITE_ROW);
	if (code == SQLITE_DONE || (code & 0xff) == SQLITE_INTERRUPT)
		return true;
	database_set_error(database, code, error);

	return false;
}

static bool run_watched(Database *database, const atomic_bool *stop, GError **error)
{
	Watch watch = { .handle = database->handle, .stop = stop };
	GThread *thread;
	bool done;

	g_mutex_init(&watch.mutex);
	g_cond_init(&watch.ended);
	/* Without a thread nobody interrupts the checkpoint. */
	thread = thread_new("checkpoint", run_watch, &watch, NULL);

	done = run(database, error);

	g_mutex_lock(&watch.mutex);
	watch.has_ended = true;
	g_cond_signal(&watch.ended);
	g_mutex_unlock(&watch.mutex);
	if (thread)
		g_thread_join(thread);
	g_mutex_clear(&watch.mutex);
	g_cond_clear(&watch.ended);

	return done;
}

bool checkpoint_run(Database *database, const atomic_bool *stop, GError **error)
{
	bool done;

	database_wait_for_others(database, false);
	done = stop ? run_watched(database, stop, error) : run(database, error);
	database_wait_for_others(database, true);

	return done;
}
