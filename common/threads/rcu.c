/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/threads/rcu.h"

#include "common/threads/sanitizer-order.h"

/* Stands for all read sections: they end before what they saw is freed. */
static char sections;

static _Thread_local bool is_registered;

void rcu_thread_begin(void)
{
	urcu_memb_register_thread();
	is_registered = true;
}

void rcu_thread_end(void)
{
	is_registered = false;
	urcu_memb_unregister_thread();
}

/* The first thread, which nobody makes. */
__attribute__((constructor)) static void begin_process(void)
{
	rcu_thread_begin();
}

RcuSection rcu_section_begin(void)
{
	/* A section of a thread that liburcu does not know protects nothing. */
	g_assert(is_registered);
	urcu_memb_read_lock();
	return true;
}

void rcu_section_end(RcuSection section)
{
	sanitizer_order_before(&sections);
	urcu_memb_read_unlock();
}

static void free_data(struct rcu_head *head)
{
	RcuData *data = caa_container_of(head, RcuData, head);

	sanitizer_order_after(&sections);
	sanitizer_order_after(data);
	g_free(data);
}

void rcu_free_later(RcuData *data)
{
	if (!data)
		return;

	sanitizer_order_before(data);
	urcu_memb_call_rcu(&data->head, free_data);
}
