/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/threads/message-queue.h"
#include "common/threads/thread.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>

#define SENDERS  4
#define MESSAGES 5000

typedef struct {
	unsigned sender;
	unsigned number;
} Content;

typedef struct {
	MessageQueue *queue;
	Receiver *receiver;
	unsigned n_got[SENDERS];
	unsigned n_all;
	GPtrArray *order; /* of contents that are not owned */
} Scene;

typedef struct {
	Scene *scene;
	unsigned sender;
} Sender;

static atomic_uint n_freed;

static void free_content(void *content)
{
	atomic_fetch_add(&n_freed, 1);
	g_free(content);
}

static void scene_set_up(Scene *scene, void (*call)(void *content, void *data),
			 GDestroyNotify free_content_of)
{
	g_autoptr(GError) error = NULL;

	*scene = (Scene){ 0 };
	atomic_store(&n_freed, 0);
	scene->queue = message_queue_new(&error);
	g_assert_no_error(error);
	scene->receiver = receiver_new(scene->queue, call, free_content_of, scene);
	scene->order = g_ptr_array_new();
}

static void scene_tear_down(Scene *scene)
{
	receiver_close(scene->receiver);
	message_queue_unref(scene->queue);
	g_ptr_array_unref(scene->order);
}

static void *send_numbers(void *data)
{
	const Sender *sender = data;

	for (unsigned i = 0; i < MESSAGES; i++) {
		Content *content = g_new(Content, 1);

		content->sender = sender->sender;
		content->number = i;
		receiver_send(sender->scene->receiver, content);
	}
	return NULL;
}

static void on_number(void *data, void *scene_data)
{
	g_autofree Content *content = data;
	Scene *scene = scene_data;

	g_assert_cmpuint(content->number, ==, scene->n_got[content->sender]);
	scene->n_got[content->sender]++;
	scene->n_all++;
}

static void test_messages_of_many_senders_arrive_in_order_and_none_is_lost(void)
{
	Scene scene;
	Sender senders[SENDERS];
	GThread *threads[SENDERS];

	scene_set_up(&scene, on_number, free_content);
	for (unsigned i = 0; i < SENDERS; i++) {
		senders[i] = (Sender){ &scene, i };
		threads[i] = thread_new("sender", send_numbers, &senders[i], NULL);
	}
	/* A message that woke nobody would leave this waiting for ever. */
	while (scene.n_all < SENDERS * MESSAGES)
		message_queue_wait(scene.queue, G_USEC_PER_SEC * 60);
	for (unsigned i = 0; i < SENDERS; i++) {
		g_thread_join(threads[i]);
		g_assert_cmpuint(scene.n_got[i], ==, MESSAGES);
	}
	g_assert_cmpuint(atomic_load(&n_freed), ==, 0);
	scene_tear_down(&scene);
}

static void on_content(void *content, void *data)
{
	Scene *scene = data;

	g_ptr_array_add(scene->order, content);
}

static bool is_readable(const Scene *scene)
{
	struct pollfd ready = { .fd = message_queue_fd(scene->queue), .events = POLLIN };

	return poll(&ready, 1, 0) == 1;
}

static void test_the_descriptor_shows_when_there_is_a_message(void)
{
	Scene scene;

	scene_set_up(&scene, on_content, NULL);
	g_assert_false(is_readable(&scene));
	receiver_send(scene.receiver, GUINT_TO_POINTER(1));
	receiver_send(scene.receiver, GUINT_TO_POINTER(2));
	g_assert_true(is_readable(&scene));
	message_queue_deliver(scene.queue);
	g_assert_false(is_readable(&scene));
	g_assert_cmpuint(scene.order->len, ==, 2);
	g_assert_cmpuint(GPOINTER_TO_UINT(scene.order->pdata[0]), ==, 1);
	g_assert_cmpuint(GPOINTER_TO_UINT(scene.order->pdata[1]), ==, 2);
	/* Nobody sends: it ends by itself. */
	message_queue_wait(scene.queue, 1000);
	scene_tear_down(&scene);
}

static void test_a_closed_receiver_gets_nothing_and_leaks_nothing(void)
{
	Scene scene;
	Receiver *held;

	scene_set_up(&scene, on_content, free_content);
	held = receiver_ref(scene.receiver);
	receiver_send(held, g_malloc(1));
	receiver_close(scene.receiver);
	message_queue_deliver(scene.queue);
	g_assert_cmpuint(atomic_load(&n_freed), ==, 1);
	g_assert_cmpuint(scene.order->len, ==, 0);

	/* A thread that nobody joined may send still later, also when the owner is gone. */
	receiver_send(held, g_malloc(1));
	receiver_unref(held);
	scene.receiver = NULL;
	scene_tear_down(&scene);
	g_assert_cmpuint(atomic_load(&n_freed), ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/message-queue/messages-of-many-senders-arrive-in-order-and-none-is-lost",
			test_messages_of_many_senders_arrive_in_order_and_none_is_lost);
	g_test_add_func("/message-queue/the-descriptor-shows-when-there-is-a-message",
			test_the_descriptor_shows_when_there_is_a_message);
	g_test_add_func("/message-queue/a-closed-receiver-gets-nothing-and-leaks-nothing",
			test_a_closed_receiver_gets_nothing_and_leaks_nothing);

	return g_test_run();
}
