/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * ObjectPlaces - where the row of an object lies, by its id.
 *
 * The table place grows only at its end, as ids rise.  An index would be written at as many pages as objects change.
 * Places of objects that are gone, or have another id by now, stay until they are searched for.  So a reader
 * compares the id.
 *
 * Stores before version 17 have the index object_id instead.  A pass that ends turns it into places.
 *
 * Thread: the filesystem's worker.
 */

/* Find out which of both the store has. */
bool object_places_load(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Turn the index of an older store into places.  With @is_thorough, drop the places of objects that are gone, if these
 * are many.  After a request to stop, the transaction must be rolled back, and object_places_load() called.
 */
bool object_places_settle(HashStore *store, bool is_thorough, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
