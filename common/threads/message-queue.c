/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/threads/message-queue.h"

#include "common/threads/sanitizer-order.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <urcu/wfcqueue.h>

struct MessageQueue {
	struct __cds_wfcq_head head; /* the owner's end */
	struct cds_wfcq_tail tail;   /* the senders' end */
	int fd;
	atomic_uint n_holders;
};

struct Receiver {
	/* Set at creation, never changed. */
	MessageQueue *queue;
	GDestroyNotify free_content;
	void *data;

	void (*call)(void *content, void *data); /* Thread: the owner; NULL: it is closed */
	atomic_uint n_holders;
};

typedef struct {
	struct cds_wfcq_node node;
	Receiver *receiver;
	void *content;
} Message;

Receiver *receiver_new(MessageQueue *queue, void (*call)(void *content, void *data),
		       GDestroyNotify free_content, void *data)
{
	Receiver *receiver = g_new0(Receiver, 1);

	receiver->queue = queue;
	receiver->call = call;
	receiver->free_content = free_content;
	receiver->data = data;
	atomic_store(&receiver->n_holders, 1);
	return receiver;
}

Receiver *receiver_ref(Receiver *receiver)
{
	atomic_fetch_add(&receiver->n_holders, 1);
	return receiver;
}

void receiver_unref(Receiver *receiver)
{
	if (atomic_fetch_sub(&receiver->n_holders, 1) == 1)
		g_free(receiver);
}

void receiver_close(Receiver *receiver)
{
	if (!receiver)
		return;

	receiver->call = NULL;
	receiver_unref(receiver);
}

void receiver_send(Receiver *receiver, void *content)
{
	MessageQueue *queue = receiver->queue;
	Message *message = g_new(Message, 1);

	message->receiver = receiver_ref(receiver);
	message->content = content;
	cds_wfcq_node_init(&message->node);
	sanitizer_order_before(message);
	cds_wfcq_enqueue(&queue->head, &queue->tail, &message->node);
	/* Also if others are in the queue: the owner may have stopped before this one, which was half in. */
	eventfd_write(queue->fd, 1);
}

MessageQueue *message_queue_new(GError **error)
{
	MessageQueue *queue;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "cannot make a queue for messages of threads: %s", g_strerror(errno));
		return NULL;
	}

	queue = g_new0(MessageQueue, 1);
	queue->fd = fd;
	atomic_store(&queue->n_holders, 1);
	__cds_wfcq_init(&queue->head, &queue->tail);
	return queue;
}

MessageQueue *message_queue_ref(MessageQueue *queue)
{
	atomic_fetch_add(&queue->n_holders, 1);
	return queue;
}

int message_queue_fd(const MessageQueue *queue)
{
	return queue->fd;
}

/* NULL: none is there, or one is half in, whose sender wakes the owner as soon as it is. */
static Message *take_next(MessageQueue *queue)
{
	struct cds_wfcq_node *node = __cds_wfcq_dequeue_nonblocking(&queue->head, &queue->tail);
	Message *message;

	if (!node || node == CDS_WFCQ_WOULDBLOCK)
		return NULL;

	message = caa_container_of(node, Message, node);
	sanitizer_order_after(message);
	return message;
}

static void drop(Message *message)
{
	if (message->receiver->free_content)
		message->receiver->free_content(message->content);
}

static void deliver(Message *message)
{
	Receiver *receiver = message->receiver;

	if (receiver->call)
		receiver->call(message->content, receiver->data);
	else
		drop(message);
}

static void take_all(MessageQueue *queue, void (*act)(Message *message))
{
	Message *message;

	while ((message = take_next(queue))) {
		act(message);
		receiver_unref(message->receiver);
		g_free(message);
	}
}

void message_queue_deliver(MessageQueue *queue)
{
	eventfd_t n_sent;

	/* Before the messages are taken: one that comes later wakes the owner again. */
	eventfd_read(queue->fd, &n_sent);
	take_all(queue, deliver);
}

void message_queue_wait(MessageQueue *queue, int64_t usec)
{
	struct pollfd ready = { .fd = queue->fd, .events = POLLIN };

	if (poll(&ready, 1, (int)(usec / 1000)) > 0)
		message_queue_deliver(queue);
}

void message_queue_unref(MessageQueue *queue)
{
	if (!queue || atomic_fetch_sub(&queue->n_holders, 1) > 1)
		return;

	take_all(queue, drop);
	close(queue->fd);
	g_free(queue);
}
