/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/report/pass-status.h"

#include "common/mounts/filesystem-lock.h"
#include "hashstore/hash-store.h"

static bool is_in_use(const GError *error)
{
	return g_error_matches(error, HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE) ||
	       g_error_matches(error, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE);
}

ExitStatus pass_exit_status(const PassResult *result)
{
	if (result->outcome == PASS_FAILED)
		return is_in_use(result->error) ? EXIT_STATUS_IN_USE : EXIT_STATUS_FAILED;

	if (result->is_disk_failing)
		return EXIT_STATUS_DISK_FAILING;
	if (result->is_on_hold)
		return EXIT_STATUS_IN_USE;
	if (result->stopped_reason)
		return EXIT_STATUS_STOPPED;

	return result->skips.entries[SKIP_UNREADABLE].count > 0 ? EXIT_STATUS_UNREADABLE
								: EXIT_STATUS_DONE;
}
