/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "hashstore/anchors/sorter.h"

/*
 * Matching - turns groups of equal anchors into runs.
 *
 * The groups are read twice.  The first time counts what each object has in common with others, for the order of
 * objects (object_table_rank()).  The second time pairs each member with possible sources: README.md has the table.
 * The work stays in proportion to the members.  Members that groups_next() left out of the very largest groups are
 * counted as capped.
 *
 * Pairs on one diagonal of two objects that lie close to each other become one Run.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Add the runs of all unsettled objects to @runs.  *ret_blocks: the sum of their estimated lengths.
 */
bool match_all(Pass *pass, ObjectTable *table, FileOpener *opener, Sorter *runs,
	       uint64_t *ret_blocks, GError **error) G_GNUC_WARN_UNUSED_RESULT;
