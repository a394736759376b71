/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The default directory of stores: /var/lib/dedupd for root, $XDG_STATE_HOME/dedupd (~/.local/state/dedupd)
 * for other users.  It need not exist.
 *
 * Thread: any.
 */
char *state_directory_default(void);
