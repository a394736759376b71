/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/threads/rcu.h"
#include "common/threads/thread.h"

#include <stdatomic.h>

#define READERS      4
#define REPLACEMENTS 20000

/* Two numbers that are always equal. */
typedef struct {
	RcuData rcu;
	uint64_t one;
	uint64_t other;
} Pair;

typedef struct {
	_Atomic(Pair *) pair;
	atomic_uint n_reading; /* threads that have read once */
	atomic_bool is_over;
} Scene;

static void replace(Scene *scene, uint64_t number)
{
	Pair *pair = g_new0(Pair, 1);

	pair->one = number;
	pair->other = number;
	rcu_free_later((RcuData *)atomic_exchange(&scene->pair, pair));
}

static uint64_t read_pair(Scene *scene)
{
	g_auto(RcuSection) section G_GNUC_UNUSED = rcu_section_begin();
	const Pair *pair = atomic_load(&scene->pair);

	g_assert_cmpuint(pair->one, ==, pair->other);
	return pair->one;
}

static void *read_until_over(void *data)
{
	Scene *scene = data;
	uint64_t last = read_pair(scene);

	atomic_fetch_add(&scene->n_reading, 1);
	while (!atomic_load(&scene->is_over)) {
		uint64_t now = read_pair(scene);

		g_assert_cmpuint(now, >=, last);
		last = now;
	}
	return NULL;
}

static void test_readers_see_what_is_replaced_as_a_whole_and_in_order(void)
{
	Scene scene = { .pair = NULL };
	GThread *readers[READERS];

	replace(&scene, 0);
	for (size_t i = 0; i < READERS; i++)
		readers[i] = thread_new("reader", read_until_over, &scene, NULL);
	while (atomic_load(&scene.n_reading) < READERS)
		g_thread_yield();

	for (uint64_t i = 1; i <= REPLACEMENTS; i++) {
		replace(&scene, i);
		/* What was replaced is freed while others still read. */
		if (i % 200 == 0)
			g_usleep(1000);
	}
	g_assert_cmpuint(read_pair(&scene), ==, REPLACEMENTS);

	atomic_store(&scene.is_over, true);
	for (size_t i = 0; i < READERS; i++)
		g_thread_join(readers[i]);
	g_free(atomic_load(&scene.pair));
}

/* In a section until it is told to end. */
static void *read_for_long(void *data)
{
	Scene *scene = data;
	g_auto(RcuSection) section G_GNUC_UNUSED = rcu_section_begin();
	const Pair *pair = atomic_load(&scene->pair);

	atomic_fetch_add(&scene->n_reading, 1);
	while (!atomic_load(&scene->is_over))
		g_thread_yield();
	/* The first pair, which was replaced long ago. */
	g_assert_cmpuint(pair->one, ==, 0);
	g_assert_cmpuint(pair->other, ==, 0);
	return NULL;
}

static void test_a_writer_does_not_wait_for_a_reader(void)
{
	Scene scene = { .pair = NULL };
	GThread *reader;

	replace(&scene, 0);
	reader = thread_new("reader", read_for_long, &scene, NULL);
	while (atomic_load(&scene.n_reading) == 0)
		g_thread_yield();

	/* This would never end if it waited. */
	for (uint64_t i = 1; i <= 100; i++)
		replace(&scene, i);

	atomic_store(&scene.is_over, true);
	g_thread_join(reader);
	g_free(atomic_load(&scene.pair));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/rcu/readers-see-what-is-replaced-as-a-whole-and-in-order",
			test_readers_see_what_is_replaced_as_a_whole_and_in_order);
	g_test_add_func("/rcu/a-writer-does-not-wait-for-a-reader",
			test_a_writer_does_not_wait_for_a_reader);

	return g_test_run();
}
