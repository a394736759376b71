/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/managed-filesystem-internal.h"

#include "common/text/name-text.h"

#include <string.h>

/* The request is cleared before the requester is told, who may make another one. */
static void answer(ManagedFilesystem *managed, const GError *error)
{
	RequestedPassAnswer tell = managed->wanted.answer;
	void *data = managed->wanted.data;

	g_clear_pointer(&managed->wanted.search, filesystem_search_free);
	g_clear_pointer(&managed->wanted.request, run_request_free);
	managed->wanted.answer = NULL;
	managed->wanted.data = NULL;
	tell(error, data);
}

static bool is_free(const ManagedFilesystem *managed, GError **error)
{
	if (!managed_pass_runs(managed) && !managed->schedule.is_asked)
		return true;

	g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_IN_USE,
		    "a pass over %s %s: 'dedupctl stop' ends it", managed->mount_point,
		    managed_pass_runs(managed) ? "runs already" : "is about to begin");
	return false;
}

/* Whether the paths lie on the filesystem. */
static bool lie_on(const ManagedFilesystem *managed, const GPtrArray *found, GError **error)
{
	for (guint i = 0; i < found->len; i++) {
		const Filesystem *filesystem = found->pdata[i];
		g_autofree char *shown = NULL;

		if (strcmp(filesystem->uuid, managed->uuid) == 0)
			continue;
		shown = name_text(filesystem->mount_point, strlen(filesystem->mount_point));
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "%s is another filesystem", shown);
		return false;
	}

	return true;
}

static void on_found(GPtrArray *found, const GError *failure, void *data)
{
	ManagedFilesystem *managed = data;
	g_autoptr(GError) error = NULL;

	if (!found) {
		answer(managed, failure);
		return;
	}
	/* The state may have changed since the search began. */
	if (!lie_on(managed, found, &error) || !managed_can_be_worked_on(managed, &error) ||
	    !is_free(managed, &error)) {
		answer(managed, error);
		return;
	}

	managed->request = g_steal_pointer(&managed->wanted.request);
	managed_ask(managed);
	answer(managed, NULL);
}

static bool look_up(ManagedFilesystem *managed, RunRequest *request, GError **error)
{
	managed->wanted.search = filesystem_search_new(managed->loop, SEARCH_FOR_CALLER,
						       request->paths, on_found, managed, error);
	return managed->wanted.search;
}

void managed_filesystem_run(ManagedFilesystem *managed, char *const *paths, char *const *wishes,
			    RequestedPassAnswer tell, void *data)
{
	g_autoptr(RunRequest) request = NULL;
	g_autoptr(GError) error = NULL;

	if (managed_can_be_worked_on(managed, &error) && is_free(managed, &error) &&
	    managed_is_not_paused(managed, &error)) {
		if (managed->wanted.search)
			g_set_error(&error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_IN_USE,
				    "paths for a pass over %s are being looked up: 'dedupctl stop' "
				    "ends that",
				    managed->mount_point);
		else
			request = run_request_new(paths, wishes, &error);
	}
	if (!request || !look_up(managed, request, &error)) {
		tell(error, data);
		return;
	}

	managed->wanted.request = g_steal_pointer(&request);
	managed->wanted.answer = tell;
	managed->wanted.data = data;
}

void requested_pass_drop(ManagedFilesystem *managed, const char *why)
{
	g_autoptr(GError) error = NULL;

	if (!managed->wanted.search)
		return;

	error = g_error_new(FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "no pass begins over %s: %s", managed->mount_point, why);
	answer(managed, error);
}
