/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * FsHistory - whether the filesystem is still the one that the store knows, or was set back meanwhile.
 *
 * An image is restored, a volume is rolled back to a snapshot of it, a copy of the device is mounted in its place.
 * Then files and extents look as they did before the last pass, or have the stamps of others, and the store would
 * take them for known and shared.
 *
 * A filesystem that is mounted without a break since the last pass was not set back (MountInstance).  Else
 * witnesses tell: ExtentHistory where extents are found by checksums, FileHistory where files are read.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Before anything is looked at.  If the filesystem was set back what the store knows is given up: by checksums
 * all of it, *ret_is_emptied, as it is read again soon; of files that they are shared.
 */
bool fs_history_begin(Pass *pass, bool by_checksums, bool *ret_is_emptied, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* After the last change: choose witnesses of what the store knows now. */
bool fs_history_end(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
