/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/store-list.h"
#include "cli/stores/duplicate-finder.h"

/*
 * The groups of equal files of several stores, one store after the other.
 *
 * Thread: main.
 */

/*
 * Call @look for the groups of each store of @directory that @names name, or of all stores.  @look adds its
 * results to @data.  Adds to *left_out what was left out.  Reports what went wrong, and returns the exit
 * status: EXIT_STATUS_IN_USE if a pass prevented it.
 */
ExitStatus duplicate_stores_each(const char *directory, char *const *names,
				 const DuplicateLimits *limits,
				 bool (*look)(DuplicateFinder *finder, HashStore *store, void *data,
					      GError **error),
				 void *data, DuplicatesLeftOut *left_out);

/* Report what was left out, and why. */
void duplicate_stores_say_left_out(const DuplicatesLeftOut *left_out);
