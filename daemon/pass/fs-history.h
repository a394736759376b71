/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * FsHistory - whether the filesystem was set back to an older state since the last pass.
 *
 * An image is restored, a volume is rolled back to a snapshot, or a copy of the device is mounted in its place.
 * Then files and extents are as before the last pass, or have the stamps of others.  The store would take them for
 * known and shared.
 *
 * A filesystem that stayed mounted since the last pass was not set back (MountInstance).  Otherwise witnesses tell:
 * ExtentHistory in a pass over extents, FileHistory in a pass over files.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Call it before the store is used.  If the filesystem was set back, a pass over extents empties the store,
 * *ret_is_emptied, because it is soon filled again.  A pass over files makes all objects unsettled.
 */
bool fs_history_begin(Pass *pass, bool by_checksums, bool *ret_is_emptied, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* After the last change: choose witnesses of the present state. */
bool fs_history_end(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
