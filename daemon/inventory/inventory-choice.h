/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass.h"

/*
 * Which way an inventory is made: from the list of all inodes, as a whole XFS has it for who may ask, or by
 * walking all names.
 *
 * Thread: the filesystem's worker.
 */

/* Whether it can be made from the list; the result of the pass then says so, else why not. */
bool inventory_choice_is_list(const Pass *pass);
