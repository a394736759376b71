/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * OneOffLimits - whether a pass forgets what its limits leave out.
 *
 * What the configuration leaves out is forgotten at once: it is to be left alone for good.  Limits of a command
 * line are mostly meant for once, and what is forgotten has to be read again by the next pass without them; but
 * a command that somebody has made again and again would never forget anything, not even what is gone, which
 * looks the same.  So the store notes the limits of the last pass that had some of its own, and the second in a
 * row with the same ones forgets.
 *
 * Thread: the filesystem's worker.
 */

/* Sets @pass->keeps_left_out, before files are looked for. */
bool one_off_limits_apply(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
