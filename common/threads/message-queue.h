/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * MessageQueue - messages that threads send to the one that owns the queue.
 *
 * Neither side waits for the other (wfcqueue of liburcu), whatever their priorities.  Messages of one sender
 * arrive in the order in which it sent them, and none is lost.  The owner waits for them, or for the
 * descriptor in its event loop.  The queue has no bound, so it is for the sender not to send without end.
 *
 * Thread: the owner, except where said otherwise.
 */
typedef struct MessageQueue MessageQueue;

/*
 * Receiver - what the owner does with messages of one kind.
 *
 * Messages hold it, so it may be closed while some of its messages are still in the queue.
 */
typedef struct Receiver Receiver;

MessageQueue *message_queue_new(GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A sender that the owner does not join holds the queue.  Thread: any. */
MessageQueue *message_queue_ref(MessageQueue *queue);
void message_queue_unref(MessageQueue *queue);

/* Readable while messages may be there. */
int message_queue_fd(const MessageQueue *queue);

/* Call the receivers of all messages that have arrived. */
void message_queue_deliver(MessageQueue *queue);

/* Wait for messages, @usec at most, and deliver those that have arrived. */
void message_queue_wait(MessageQueue *queue, int64_t usec);

/*
 * @queue is borrowed.  @call owns the content.  @free_content frees that of messages that are not delivered;
 * NULL: it needs no care.
 */
Receiver *receiver_new(MessageQueue *queue, void (*call)(void *content, void *data),
		       GDestroyNotify free_content, void *data);

/* Have the owner call @receiver with @content, which is consumed.  Never waits.  Thread: any. */
void receiver_send(Receiver *receiver, void *content);

/* Thread: any. */
Receiver *receiver_ref(Receiver *receiver);
void receiver_unref(Receiver *receiver);

/* Deliver nothing to it any more, and give up the owner's hold.  Accepts NULL. */
void receiver_close(Receiver *receiver);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MessageQueue, message_queue_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Receiver, receiver_close)
