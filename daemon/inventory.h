/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/file-opener.h"
#include "daemon/pass.h"
#include "daemon/stamp.h"

/*
 * Inventory - which files have to be read, found by merging a walk with what the store remembers,
 * both in inode order.
 *
 * Building it walks, brings the store's names and stamps up to date, drops what is gone, and finds
 * out where the files that must be read lie, so that they come in physical order.
 *
 * Memory: half of the pass's limit while it is built, a quarter while it is read.
 * Thread: the filesystem's worker.
 */
typedef struct Inventory Inventory;

typedef struct {
	FileId id; /* generation 0: could not be found out */
	Stamp stamp;
	uint64_t parent;
	uint32_t half_object; /* a half-read version to go on with; 0: none */
	bool is_foreign;      /* this process may not share onto it */
	const char *name;     /* valid until the next call */
} InventoryItem;

Inventory *inventory_build(Pass *pass, FileOpener *opener, GError **error);
void inventory_free(Inventory *inventory);

/* The next file to read, in the order in which they lie on the disk; NULL at the end. */
bool inventory_next(Inventory *inventory, const InventoryItem **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Files to read, and their bytes. */
uint64_t inventory_files(const Inventory *inventory);
uint64_t inventory_bytes(const Inventory *inventory);

/* Objects met by the walk that an earlier pass fingerprinted and did not settle. */
uint64_t inventory_unsettled(const Inventory *inventory);

/* The same outside the walk, one after another, in no order; 0 at the end. */
bool inventory_next_outside(Inventory *inventory, uint32_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool inventory_rewind_outside(Inventory *inventory, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Inventory, inventory_free)
