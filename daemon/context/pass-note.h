/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * The record of a pass in the history, and what it skipped.
 *
 * Thread: the filesystem's worker.
 */

/* Put the pass into the history and keep all that was learned.  A dry run leaves no trace. */
bool pass_note(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether the state directory lies on the filesystem of the pass, which then counts writes to the store. */
bool pass_writes_to_itself(const Pass *pass);
