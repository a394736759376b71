/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * StoreSnapshot - the state of a store at one moment, for several cursors that must agree.  Later changes are
 * not seen.
 *
 * Thread: the owner's of the store.
 */
typedef struct StoreSnapshot StoreSnapshot;

/* @store and the snapshot must outlive the cursors. */
StoreSnapshot *store_snapshot_take(HashStore *store, GError **error);

/* Accepts NULL. */
void store_snapshot_free(StoreSnapshot *snapshot);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreSnapshot, store_snapshot_free)
