/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/threads/thread.h"

#include "common/threads/rcu.h"

typedef struct {
	GThreadFunc main;
	void *data;
} Start;

static void *thread_main(void *data)
{
	g_autofree Start *start = data;
	void *result;

	rcu_thread_begin();
	result = start->main(start->data);
	rcu_thread_end();
	return result;
}

GThread *thread_new(const char *name, GThreadFunc main, void *data, GError **error)
{
	Start *start = g_new0(Start, 1);
	GThread *thread;

	start->main = main;
	start->data = data;
	thread = g_thread_try_new(name, thread_main, start, error);
	if (!thread)
		g_free(start);
	return thread;
}
