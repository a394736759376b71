/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/stage-watch.h"

#include "kernel-ioctl/call/fd.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

struct StageWatch {
	Progress *progress;
	int fd;
	sd_event_source *source;
	void (*changed)(void *data);
	void *data;
};

static int on_stage(sd_event_source *source, int fd, uint32_t events, void *data)
{
	StageWatch *watch = data;
	eventfd_t n_stages;

	/* Several stages may have begun: the progress has the present one. */
	if (eventfd_read(fd, &n_stages) == 0)
		watch->changed(watch->data);
	return 0;
}

StageWatch *stage_watch_new(sd_event *event, Progress *progress, void (*changed)(void *data),
			    void *data)
{
	g_autoptr(StageWatch) watch = g_new0(StageWatch, 1);

	watch->progress = progress;
	watch->changed = changed;
	watch->data = data;
	watch->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->fd < 0 ||
	    sd_event_add_io(event, &watch->source, watch->fd, EPOLLIN, on_stage, watch) < 0)
		return NULL;

	progress->changed_fd = watch->fd;
	return g_steal_pointer(&watch);
}

void stage_watch_free(StageWatch *watch)
{
	if (!watch)
		return;

	watch->progress->changed_fd = 0;
	sd_event_source_unref(watch->source);
	fd_close(&watch->fd);
	g_free(watch);
}
