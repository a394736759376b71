/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * Thread - makes all threads of dedupd and dedupctl.
 *
 * Each of them may read what is under RCU (rcu.h).
 *
 * Thread: any.
 */

/* As g_thread_try_new(); @main is not called if there is an error. */
GThread *thread_new(const char *name, GThreadFunc main, void *data, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
