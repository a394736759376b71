/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * OneOffLimits - whether a pass drops excluded files from the store.
 *
 * Files that the configuration excludes are dropped at once.  Limits of a command line are mostly used once, and
 * dropped files would have to be read again.  But a command that is repeated for ever would then never drop
 * anything, not even files that are gone.  So the store notes the limits of the last pass that had some of its own.
 * The second pass in a row with the same limits drops files.
 *
 * Thread: the filesystem's worker.
 */

/* Set @pass->keeps_left_out; to be called before files are looked for. */
bool one_off_limits_apply(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
