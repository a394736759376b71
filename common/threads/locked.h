/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <pthread.h>

/*
 * Locked - a mutex that is unlocked where its scope is left.
 *
 * Of pthreads rather than GLib's, which ThreadSanitizer does not see.  NULL: nothing is locked.
 *
 * Thread: any.
 */
typedef pthread_mutex_t *Locked;

static inline Locked locked_take(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void locked_release(Locked mutex)
{
	pthread_mutex_unlock(mutex);
}

G_DEFINE_AUTO_CLEANUP_FREE_FUNC(Locked, locked_release, NULL)
