/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * The steps of a pass over a btrfs filesystem that uses the filesystem's own checksums.  They find new data
 * extents, equal ones, and those that can be freed.  They walk to no file, and read only data that is
 * deduplicated.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Whether this pass can go this way.  If not, *ret_reason says why, in words that end a sentence; it is
 * a constant text.
 */
bool extent_pass_is_possible(const Pass *pass, const char **ret_reason);

bool extent_pass_steps(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;
