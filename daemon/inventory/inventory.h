/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/inventory/read-list.h"

/*
 * Inventory - which files have to be read, found by merging a walk with what the store remembers,
 * both in inode order.
 *
 * Building it walks, brings the store's names and stamps up to date, drops what is gone, and lists what
 * must be read.
 *
 * Memory: half of the pass's limit while it is built, a quarter while it is read.
 * Thread: the filesystem's worker.
 */
typedef struct Inventory Inventory;

Inventory *inventory_build(Pass *pass, FileOpener *opener, GError **error);
void inventory_free(Inventory *inventory);

/* The files to read; the inventory owns the list. */
ReadList *inventory_to_read(const Inventory *inventory);

/*
 * With --read=same-size: put into the store what need not be read, and list the rest.  What is identical
 * to nothing by its size or its head is not in the list.
 */
bool inventory_choose(Inventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Call when all listed files were read.  A pass that ends earlier leaves the note of lost stands to the next one. */
bool inventory_finish_reading(Inventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Objects met by the walk that an earlier pass fingerprinted and did not settle. */
uint64_t inventory_unsettled(const Inventory *inventory);

/* The same outside the walk, one after another, in no order; 0 at the end. */
bool inventory_next_outside(Inventory *inventory, uint32_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool inventory_rewind_outside(Inventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Inventory, inventory_free)
