/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"
#include "hashstore/objects/objects.h"

/*
 * The data extent of btrfs that a pass was at when it was ended: nothing of it is freed before its last
 * place is shared, so the next pass finishes it first, whatever there is by then that frees more.
 *
 * Only of a pass that ended in order; one that was killed leaves it to the order of planning.
 *
 * Thread: the filesystem's worker.
 */

/* Remember @extent. */
bool resume_point_note(Pass *pass, const Object *extent, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Its id, and forget it; 0: there is none. */
bool resume_point_take(Pass *pass, uint32_t *ret_id, GError **error) G_GNUC_WARN_UNUSED_RESULT;
