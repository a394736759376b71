/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/managed-hold.h"

#include "common/mounts/filesystem-hold.h"
#include "common/mounts/filesystem-lock.h"
#include "daemon/context/filesystem.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* How often to look whether passes have ended. */
#define LOOK_USEC (G_USEC_PER_SEC / 20)

struct ManagedHolds {
	/* Set at creation, never changed. */
	const char *uuid;
	MainLoop *loop;
	ManagedHoldsListener listener;

	GPtrArray *holds; /* Hold */
	int fd;           /* a FilesystemHold; below 0: nobody holds it */
};

typedef struct {
	ManagedHolds *owner;
	ManagedHold shown;
	char *why;

	/* A pipe whose reading end the holder has: nothing that the holder sends is kept anywhere. */
	int fd;
	sd_event_source *ended;

	/* The lease, until passes have ended. */
	int lease_fd;
	sd_event_source *waiting; /* NULL: the caller was answered */
	int64_t give_up_usec;
	ManagedHoldAnswer answer;
	void *data;
} Hold;

static void hold_free(void *data)
{
	Hold *hold = data;

	hold->ended = sd_event_source_unref(hold->ended);
	hold->waiting = sd_event_source_unref(hold->waiting);
	fd_close(&hold->fd);
	fd_close(&hold->lease_fd);
	g_free(hold->why);
	g_free(hold);
}

/* Answer, once; then only the holder has the lease. */
static void tell(Hold *hold, const GError *error)
{
	ManagedHoldAnswer answer = hold->answer;

	hold->answer = NULL;
	hold->waiting = sd_event_source_unref(hold->waiting);
	if (answer)
		answer(error ? -1 : hold->lease_fd, error, hold->data);
	fd_close(&hold->lease_fd);
}

static void end(Hold *hold)
{
	ManagedHolds *holds = hold->owner;

	g_ptr_array_remove(holds->holds, hold);
	if (holds->holds->len == 0)
		fd_close(&holds->fd);
	holds->listener.changed(holds->listener.data);
}

static int on_ended(sd_event_source *source, int fd, uint32_t events, void *data)
{
	end(data);
	return 0;
}

/* The process that still works on the filesystem, to be freed; NULL: none. */
static char *find_worker(const ManagedHolds *holds)
{
	return holds->listener.pass_runs(holds->listener.data)
		       ? g_strdup("a pass of the service")
		       : filesystem_lock_holder(holds->uuid);
}

static int on_look(sd_event_source *source, uint64_t usec, void *data)
{
	Hold *hold = data;
	g_autofree char *worker = find_worker(hold->owner);
	g_autoptr(GError) error = NULL;
	int failed;

	if (!worker) {
		tell(hold, NULL);
		return 0;
	}
	if (g_get_monotonic_time() >= hold->give_up_usec) {
		error = g_error_new(FILESYSTEM_ERROR, FILESYSTEM_ERROR_IN_USE,
				    "%s works on the filesystem, and does not end", worker);
		tell(hold, error);
		end(hold);
		return 0;
	}

	failed = sd_event_source_set_time_relative(source, LOOK_USEC);
	return failed < 0 ? failed : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int open_lease(Hold *hold, sd_event *event)
{
	int fds[2];
	int failed;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;

	hold->lease_fd = fds[0];
	hold->fd = fds[1];
	/* No event is asked for: EPOLLERR comes when all readers are gone. */
	failed = sd_event_add_io(event, &hold->ended, hold->fd, 0, on_ended, hold);
	if (failed >= 0)
		failed = sd_event_add_time_relative(event, &hold->waiting, CLOCK_MONOTONIC, 0, 0,
						    on_look, hold);
	return failed;
}

static bool begin(Hold *hold, GError **error)
{
	ManagedHolds *holds = hold->owner;
	int failed;

	if (holds->fd < 0 && !filesystem_hold(holds->uuid, &holds->fd, error))
		return false;

	failed = open_lease(hold, holds->loop->event);
	return failed >= 0 || main_loop_failed(failed, "make a lease", error);
}

ManagedHolds *managed_holds_new(const char *uuid, MainLoop *loop,
				const ManagedHoldsListener *listener)
{
	ManagedHolds *holds = g_new0(ManagedHolds, 1);

	holds->uuid = uuid;
	holds->loop = loop;
	holds->listener = *listener;
	holds->holds = g_ptr_array_new_with_free_func(hold_free);
	holds->fd = -1;
	return holds;
}

bool managed_holds_have_room(const ManagedHolds *holds, const ManagedHold *wanted)
{
	size_t n_others = 0, n_of_user = 0;

	for (guint i = 0; i < holds->holds->len; i++) {
		const Hold *hold = holds->holds->pdata[i];

		n_others += !hold->shown.is_own;
		n_of_user += hold->shown.uid == wanted->uid;
	}
	if (holds->holds->len >= MANAGED_HOLDS_MAX)
		return false;

	return wanted->is_own ||
	       (n_others < MANAGED_HOLDS_OF_OTHERS_MAX && n_of_user < MANAGED_HOLDS_OF_USER_MAX);
}

void managed_holds_add(ManagedHolds *holds, const ManagedHold *shown, ManagedHoldAnswer answer,
		       void *data)
{
	Hold *hold = g_new0(Hold, 1);
	g_autoptr(GError) error = NULL;

	hold->owner = holds;
	hold->shown = *shown;
	hold->shown.since_usec = g_get_real_time();
	hold->why = g_strdup(shown->why);
	hold->shown.why = hold->why;
	hold->fd = hold->lease_fd = -1;
	hold->give_up_usec = g_get_monotonic_time() + (int64_t)MANAGED_HOLD_WAIT_USEC;
	hold->answer = answer;
	hold->data = data;
	g_ptr_array_add(holds->holds, hold);
	if (!begin(hold, &error)) {
		tell(hold, error);
		end(hold);
		return;
	}

	holds->listener.begun(holds->listener.data);
	holds->listener.changed(holds->listener.data);
}

size_t managed_holds_count(const ManagedHolds *holds)
{
	return holds->holds->len;
}

ManagedHold managed_holds_get(const ManagedHolds *holds, size_t index)
{
	return ((const Hold *)holds->holds->pdata[index])->shown;
}

char *managed_holds_text(const ManagedHolds *holds)
{
	GString *text = g_string_new("on hold by ");

	for (guint i = 0; i < holds->holds->len; i++) {
		const ManagedHold *hold = &((const Hold *)holds->holds->pdata[i])->shown;

		g_string_append(text, i > 0 ? ", " : "");
		if (hold->pid > 0)
			g_string_append_printf(text, "process %d", hold->pid);
		else
			g_string_append_printf(text, "user %u", hold->uid);
		if (hold->why[0] != '\0')
			g_string_append_printf(text, " (%s)", hold->why);
	}

	return g_string_free(text, FALSE);
}

void managed_holds_free(ManagedHolds *holds)
{
	g_autoptr(GError) error = g_error_new(FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
					      "nothing is held: the service ends");

	for (guint i = 0; i < holds->holds->len; i++)
		tell(holds->holds->pdata[i], error);
	g_ptr_array_unref(holds->holds);
	fd_close(&holds->fd);
	g_free(holds);
}
