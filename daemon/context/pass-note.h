/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * What the history tells of a pass, and what it left alone.
 *
 * Thread: the filesystem's worker.
 */

/* Put the pass into the history and keep all that was learned.  A dry run leaves no trace. */
bool pass_note(Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Whether what the pass writes into its store is counted by the filesystem that it works on. */
bool pass_writes_to_itself(const Pass *pass);
