/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Where stores lie unless --state-dir says otherwise: /var/lib/dedupd for root, for anyone else
 * $XDG_STATE_HOME/dedupd, by default ~/.local/state/dedupd.  It need not exist.
 *
 * Thread: any.
 */
char *state_directory_default(void);
