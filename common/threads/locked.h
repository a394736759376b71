/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <pthread.h>

/*
 * Locked - a mutex that is unlocked at the end of its scope.
 *
 * A pthread mutex, since ThreadSanitizer does not know GLib's.  NULL: no mutex is locked.
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
