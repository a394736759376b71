/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/managed-filesystem-internal.h"

bool managed_filesystem_run(ManagedFilesystem *managed, char *const *paths, char *const *wishes,
			    bool *ret_in_use, GError **error)
{
	*ret_in_use = false;
	if (!managed_can_be_worked_on(managed, error))
		return false;
	if (managed->worker || managed->schedule.is_asked) {
		*ret_in_use = true;
		g_set_error(error, FILESYSTEM_ERROR, FILESYSTEM_ERROR_UNSUITABLE,
			    "a pass over %s %s: 'dedupctl stop' ends it", managed->mount_point,
			    managed->worker ? "runs already" : "is about to begin");
		return false;
	}

	managed->request = run_request_new(managed->settings, managed->uuid, paths, wishes, error);
	if (!managed->request)
		return false;

	managed_ask(managed);
	return true;
}
