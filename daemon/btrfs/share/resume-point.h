/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "hashstore/objects/objects.h"

/*
 * The data extent of btrfs that a pass was sharing when it ended.  None of it is freed before its last reference is
 * redirected, so the next pass finishes it first.
 *
 * A pass that was killed leaves no resume point.
 *
 * Thread: the filesystem's worker.
 */

/* Remember @extent. */
bool resume_point_note(Pass *pass, const Object *extent, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Return its id, and forget it; 0: there is none. */
bool resume_point_take(Pass *pass, uint32_t *ret_id, GError **error) G_GNUC_WARN_UNUSED_RESULT;
