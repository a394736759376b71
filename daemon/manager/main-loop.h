/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/events/event.h"
#include "common/threads/message-queue.h"

#include <stdbool.h>

/*
 * MainLoop - the event loop of the main thread, and the queue of messages that threads send to it.
 *
 * Thread: main; the queue as it says.
 */
typedef struct {
	sd_event *event;
	MessageQueue *messages;
} MainLoop;

MainLoop *main_loop_new(GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Threads may still hold the queue.  Accepts NULL. */
void main_loop_free(MainLoop *loop);

/* Report @failed, a negative errno, as G_FILE_ERROR: "cannot @what: cause".  Returns false. */
bool main_loop_failed(int failed, const char *what, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MainLoop, main_loop_free)
