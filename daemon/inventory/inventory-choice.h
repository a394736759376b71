/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * How an inventory is built: from the list of all inodes, which a privileged pass over a whole XFS filesystem gets;
 * else by walking all names.
 *
 * Thread: the filesystem's worker.
 */

/* Whether to build it from the list.  The result of the pass records this, or why not. */
bool inventory_choice_is_list(const Pass *pass);
