/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/managed-filesystem-internal.h"

#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/call/fd.h"

#include <fcntl.h>

/* A task that takes longer counts as unresponsive. */
#define PATIENCE_USEC (2 * G_USEC_PER_SEC)

/* How long the result of a check holds. */
#define FRESH_USEC G_USEC_PER_SEC

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
	ManagedFilesystem *managed = data;
	g_autoptr(DetachedTask) task = g_steal_pointer(&managed->look);
	const Look *look = detached_task_work_data(task);

	managed->is_being_scrubbed = look->is_being_scrubbed;
	managed->looked_usec = g_get_monotonic_time();
	managed->listener.due(managed->listener.data);
}

static void on_left_ended(void *data)
{
	ManagedFilesystem *managed = data;

	g_clear_pointer(&managed->left, detached_task_free);
	managed_say_changed(managed);
}

static void on_late(void *data)
{
	ManagedFilesystem *managed = data;
	const DetachedTaskListener listener = { .done = on_left_ended, .data = managed };

	managed->left = g_steal_pointer(&managed->look);
	detached_task_set_listener(managed->left, &listener);
	managed_say_changed(managed);
}

void managed_leave_search(ManagedFilesystem *managed)
{
	const DetachedTaskListener listener = { .done = on_left_ended, .data = managed };

	/* The search hangs, maybe on another filesystem. */
	if (managed->request)
		g_clear_pointer(&managed->search, filesystem_search_free);
	else if (managed->search)
		managed->left =
			filesystem_search_leave(g_steal_pointer(&managed->search), &listener);
}

/* Returns false if it cannot start. */
static bool start_look(ManagedFilesystem *managed)
{
	const DetachedTaskListener listener = { on_looked, on_late, managed };
	g_autoptr(GError) error = NULL;
	Look *look = g_new0(Look, 1);

	look->mount_point = g_strdup(managed->mount_point);
	managed->look = detached_task_new(managed->loop, &look_kind, look, &listener, &error);
	if (!managed->look)
		g_debug("no closer look at %s: %s", managed->mount_point, error->message);
	return managed->look;
}

bool managed_preflight_closer(ManagedFilesystem *managed, ScheduleState *state)
{
	bool is_fresh = managed->looked_usec > 0 &&
			state->now_usec - managed->looked_usec < (int64_t)FRESH_USEC;

	if (managed->look || (!is_fresh && start_look(managed)))
		return false;

	pass_conditions_look_closer(managed->conditions, managed->uuid,
				    is_fresh && managed->is_being_scrubbed, state);
	return true;
}
