/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * The steps of a pass over a btrfs whose equal data is found from its own checksums: which data
 * extents are new, what is equal, what can be freed.  No file is walked to and no data is read but
 * what is shared.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Whether this pass can go this way.  If not, *ret_reason says why, in words that end a sentence; it is
 * a constant text.
 */
bool extent_pass_is_possible(const Pass *pass, const char **ret_reason);

bool extent_pass_steps(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
