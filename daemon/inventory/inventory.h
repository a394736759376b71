/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/inventory/read-list.h"

/*
 * Inventory - which files have to be read, found by merging a walk with the store, both in inode order.
 *
 * Building it brings the store's names and stamps up to date, drops files that are gone, and lists files to read.
 *
 * Memory: half of the pass's limit while it is built, a quarter while it is read.  Thread: the filesystem's worker.
 */
typedef struct Inventory Inventory;

Inventory *inventory_build(Pass *pass, FileOpener *opener, GError **error);
void inventory_free(Inventory *inventory);

/* The files to read; the inventory owns the list. */
ReadList *inventory_to_read(const Inventory *inventory);

/*
 * With --read=same-size: put files that need not be read into the store, and list the others.  A file that is
 * identical to no other by its size or head is not listed.
 */
bool inventory_choose(Inventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Call when all listed files were read.  A pass that ends earlier leaves the note of lost stand-ins to the next
 * one.
 */
bool inventory_finish_reading(Inventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The number of objects that the walk met, and that an earlier pass fingerprinted without settling them. */
uint64_t inventory_unsettled(const Inventory *inventory);

/* The same objects outside the walk, one after another, in no order; 0 at the end. */
bool inventory_next_outside(Inventory *inventory, uint32_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool inventory_rewind_outside(Inventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Inventory, inventory_free)
