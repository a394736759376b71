/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "hashstore/anchors/sorter.h"

/*
 * Matching - from groups of equal anchors to runs.
 *
 * The groups are walked twice: once to count what each object has in common with others, which
 * gives the order in which they are worked on (object_table_rank()), once to pair each member with
 * possible sources.  In groups of up to 8 members that is every member of lower rank; in larger
 * ones the first member and one of the object before its own, so that the work stays in proportion
 * to the members.  Of files that are to be identical each is paired with the first one.  What groups_next() left out of the very largest is counted as capped.  Pairs on
 * one diagonal of two objects that lie close to each other become one Run.
 *
 * Thread: the filesystem's worker.
 */

/*
 * Add the runs of all unsettled objects to @runs.  *ret_blocks: the sum of their estimated lengths.
 */
bool match_all(Pass *pass, ObjectTable *table, FileOpener *opener, Sorter *runs,
	       uint64_t *ret_blocks, GError **error) G_GNUC_WARN_UNUSED_RESULT;
