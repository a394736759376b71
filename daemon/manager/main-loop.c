/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/main-loop.h"

#include <sys/epoll.h>

static int on_messages(sd_event_source *source, int fd, uint32_t events, void *data)
{
	message_queue_deliver(data);
	return 0;
}

bool main_loop_failed(int failed, const char *what, GError **error)
{
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-failed), "cannot %s: %s", what,
		    g_strerror(-failed));
	return false;
}

MainLoop *main_loop_new(GError **error)
{
	g_autoptr(MainLoop) loop = g_new0(MainLoop, 1);
	int failed;

	loop->messages = message_queue_new(error);
	if (!loop->messages)
		return NULL;

	failed = sd_event_new(&loop->event);
	if (failed >= 0)
		failed = sd_event_add_io(loop->event, NULL, message_queue_fd(loop->messages),
					 EPOLLIN, on_messages, loop->messages);
	if (failed >= 0)
		return g_steal_pointer(&loop);

	main_loop_failed(failed, "make an event loop", error);
	return NULL;
}

void main_loop_free(MainLoop *loop)
{
	if (!loop)
		return;

	sd_event_unref(loop->event);
	message_queue_unref(loop->messages);
	g_free(loop);
}
