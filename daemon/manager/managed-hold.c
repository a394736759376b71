/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/managed-hold.h"

#include "common/mounts/filesystem-hold.h"
#include "common/mounts/filesystem-lock.h"
#include "daemon/context/filesystem.h"
#include "daemon/manager/managed-filesystem-internal.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* How often to look whether passes have ended. */
#define LOOK_USEC (G_USEC_PER_SEC / 20)

typedef struct {
	ManagedFilesystem *managed;
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
	ManagedFilesystem *managed = hold->managed;

	g_ptr_array_remove(managed->holds, hold);
	if (managed->holds->len == 0)
		fd_close(&managed->hold_fd);
	managed_say_changed(managed);
}

static int on_ended(sd_event_source *source, int fd, uint32_t events, void *data)
{
	end(data);
	return 0;
}

/* The process that still works on the filesystem, to be freed; NULL: none. */
static char *find_worker(const ManagedFilesystem *managed)
{
	return managed_pass_runs(managed) ? g_strdup("a pass of the service")
					  : filesystem_lock_holder(managed->uuid);
}

static int on_look(sd_event_source *source, uint64_t usec, void *data)
{
	Hold *hold = data;
	g_autofree char *worker = find_worker(hold->managed);
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
	ManagedFilesystem *managed = hold->managed;
	int failed;

	if (managed->hold_fd < 0 && !filesystem_hold(managed->uuid, &managed->hold_fd, error))
		return false;

	failed = open_lease(hold, managed->loop->event);
	if (failed >= 0)
		return true;

	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(-failed),
		    "cannot make a lease: %s", g_strerror(-failed));
	return false;
}

bool managed_filesystem_has_room_for_hold(const ManagedFilesystem *managed,
					  const ManagedHold *wanted)
{
	size_t n_others = 0, n_of_user = 0;

	for (guint i = 0; i < managed->holds->len; i++) {
		const Hold *hold = managed->holds->pdata[i];

		n_others += !hold->shown.is_own;
		n_of_user += hold->shown.uid == wanted->uid;
	}
	if (managed->holds->len >= MANAGED_HOLDS_MAX)
		return false;

	return wanted->is_own ||
	       (n_others < MANAGED_HOLDS_OF_OTHERS_MAX && n_of_user < MANAGED_HOLDS_OF_USER_MAX);
}

void managed_filesystem_hold(ManagedFilesystem *managed, const ManagedHold *shown,
			     ManagedHoldAnswer answer, void *data)
{
	Hold *hold = g_new0(Hold, 1);
	g_autoptr(GError) error = NULL;

	hold->managed = managed;
	hold->shown = *shown;
	hold->shown.since_usec = g_get_real_time();
	hold->why = g_strdup(shown->why);
	hold->shown.why = hold->why;
	hold->fd = hold->lease_fd = -1;
	hold->give_up_usec = g_get_monotonic_time() + (int64_t)MANAGED_HOLD_WAIT_USEC;
	hold->answer = answer;
	hold->data = data;
	g_ptr_array_add(managed->holds, hold);
	if (!begin(hold, &error)) {
		tell(hold, error);
		end(hold);
		return;
	}

	managed_filesystem_end(managed, END_FOR_HOLD);
	managed_say_changed(managed);
}

size_t managed_filesystem_count_holds(const ManagedFilesystem *managed)
{
	return managed->holds->len;
}

ManagedHold managed_filesystem_get_hold(const ManagedFilesystem *managed, size_t index)
{
	return ((const Hold *)managed->holds->pdata[index])->shown;
}

char *managed_holds_text(const ManagedFilesystem *managed)
{
	GString *text = g_string_new("on hold by ");

	for (guint i = 0; i < managed->holds->len; i++) {
		const ManagedHold *hold = &((const Hold *)managed->holds->pdata[i])->shown;

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

void managed_holds_init(ManagedFilesystem *managed)
{
	managed->holds = g_ptr_array_new_with_free_func(hold_free);
	managed->hold_fd = -1;
}

void managed_holds_clear(ManagedFilesystem *managed)
{
	g_autoptr(GError) error = g_error_new(FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
					      "nothing is held: the service ends");

	for (guint i = 0; i < managed->holds->len; i++)
		tell(managed->holds->pdata[i], error);
	g_ptr_array_unref(managed->holds);
	fd_close(&managed->hold_fd);
}
