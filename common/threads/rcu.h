/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <urcu/urcu-memb.h>

/*
 * Rcu - data that threads read without a lock while another one replaces it.
 *
 * An _Atomic pointer leads to the data, which never changes.  A reader loads the pointer within a
 * read section.  A writer exchanges the pointer and has the old data freed when all sections that may
 * still see it have ended.  So nobody ever waits for anybody, whatever the priorities of the threads.
 *
 * Each thread of thread_new() may read, and the first thread of the process.
 * A reader must not sleep in a section: that delays no writer, but memory is not freed meanwhile.
 *
 * Thread: any.
 */

/* A read section, which ends where its scope is left: g_auto(RcuSection). */
typedef bool RcuSection;

RcuSection rcu_section_begin(void);
void rcu_section_end(RcuSection section);

/* First member of data that is replaced. */
typedef struct {
	struct rcu_head head;
} RcuData;

/* Have @data, which no pointer leads to any more, freed by g_free() in time.  Never waits.  Accepts NULL. */
void rcu_free_later(RcuData *data);

/* Register the calling thread, or remove it: for thread.c alone. */
void rcu_thread_begin(void);
void rcu_thread_end(void);

G_DEFINE_AUTO_CLEANUP_FREE_FUNC(RcuSection, rcu_section_end, false)
