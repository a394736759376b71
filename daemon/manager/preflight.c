/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/preflight.h"

#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/call/fd.h"

#include <fcntl.h>

/* A task that takes longer counts as unresponsive. */
#define PATIENCE_USEC (2 * G_USEC_PER_SEC)

/* How long the result of a check holds. */
#define FRESH_USEC G_USEC_PER_SEC

struct Preflight {
	/* Set at creation, never changed. */
	MainLoop *loop;
	PreflightListener listener;

	DetachedTask *look;  /* NULL: none is running */
	int64_t looked_usec; /* monotonic; 0: not since the last pass began */
	bool is_being_scrubbed;

	/* A task that did not end in time, or was abandoned; NULL: none. */
	DetachedTask *left;
};

typedef struct {
	char *mount_point;
	bool is_being_scrubbed;
} Look;

static void look_free(void *data)
{
	Look *look = data;

	g_free(look->mount_point);
	g_free(look);
}

static void look_work(void *data)
{
	Look *look = data;
	g_auto(Fd) fd = open(look->mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);

	look->is_being_scrubbed = fd >= 0 && btrfs_is_being_scrubbed(fd);
}

static const DetachedTaskKind look_kind = {
	.thread_name = "closer look",
	.work = look_work,
	.free_work_data = look_free,
	.patience_usec = PATIENCE_USEC,
};

static void on_looked(void *data)
{
	Preflight *preflight = data;
	g_autoptr(DetachedTask) task = g_steal_pointer(&preflight->look);
	const Look *look = detached_task_work_data(task);

	preflight->is_being_scrubbed = look->is_being_scrubbed;
	preflight->looked_usec = g_get_monotonic_time();
	preflight->listener.looked(preflight->listener.data);
}

static void on_left_ended(void *data)
{
	Preflight *preflight = data;

	g_clear_pointer(&preflight->left, detached_task_free);
	preflight->listener.changed(preflight->listener.data);
}

static void on_late(void *data)
{
	Preflight *preflight = data;
	const DetachedTaskListener listener = { .done = on_left_ended, .data = preflight };

	preflight->left = g_steal_pointer(&preflight->look);
	detached_task_set_listener(preflight->left, &listener);
	preflight->listener.changed(preflight->listener.data);
}

Preflight *preflight_new(MainLoop *loop, const PreflightListener *listener)
{
	Preflight *preflight = g_new0(Preflight, 1);

	preflight->loop = loop;
	preflight->listener = *listener;
	return preflight;
}

void preflight_free(Preflight *preflight)
{
	detached_task_free(preflight->look);
	detached_task_free(preflight->left);
	g_free(preflight);
}

/* Returns false if it cannot start. */
static bool start_look(Preflight *preflight, const char *mount_point)
{
	const DetachedTaskListener listener = { on_looked, on_late, preflight };
	g_autoptr(GError) error = NULL;
	Look *look = g_new0(Look, 1);

	look->mount_point = g_strdup(mount_point);
	preflight->look = detached_task_new(preflight->loop, &look_kind, look, &listener, &error);
	if (!preflight->look)
		g_debug("no closer look at %s: %s", mount_point, error->message);
	return preflight->look;
}

bool preflight_look(Preflight *preflight, const char *mount_point, bool *ret_is_being_scrubbed)
{
	bool is_fresh = preflight->looked_usec > 0 &&
			g_get_monotonic_time() - preflight->looked_usec < (int64_t)FRESH_USEC;

	if (preflight->look || (!is_fresh && start_look(preflight, mount_point)))
		return false;

	*ret_is_being_scrubbed = is_fresh && preflight->is_being_scrubbed;
	return true;
}

void preflight_forget(Preflight *preflight)
{
	preflight->looked_usec = 0;
}

bool preflight_is_silent(const Preflight *preflight)
{
	return preflight->left;
}

void preflight_leave(Preflight *preflight, FilesystemSearch *search)
{
	const DetachedTaskListener listener = { .done = on_left_ended, .data = preflight };

	preflight->left = filesystem_search_leave(search, &listener);
}
