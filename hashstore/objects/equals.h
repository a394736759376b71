/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"

/*
 * Equals - looks up the objects whose digest over all of their blocks is the same, in the segments as
 * they stood when it was opened.
 *
 * A look-up reads a few pages of each segment.  What is found is equal to the best of the store's
 * knowledge: only a look at the objects says whether they are still as they were.
 *
 * Thread: the owner's of the store.
 */
typedef struct Equals Equals;

Equals *equals_open(HashStore *store, GError **error);
void equals_close(Equals *equals);

/*
 * Find the others that are as long as @object, which is OBJECT_DONE, and have its digest; @most of
 * them.  *ret, valid until the next call, are ids (uint32_t); *ret_has_more: there are others.
 */
bool equals_find(Equals *equals, const Object *object, size_t most, const GArray **ret,
		 bool *ret_has_more, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Equals, equals_close)
