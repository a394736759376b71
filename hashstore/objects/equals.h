/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"

/*
 * Equals - finds objects with the same digest of all their blocks, in the segments as of its opening.
 *
 * A look-up reads a few pages of each segment.  Results are equal as far as the store knows: check that the
 * objects have not changed.
 *
 * Thread: the owner's of the store.
 */
typedef struct Equals Equals;

Equals *equals_open(HashStore *store, GError **error);
void equals_close(Equals *equals);

/*
 * Find up to @most other objects with the length and digest of @object, which is OBJECT_DONE.  *ret, valid
 * until the next call, has ids (uint32_t).  *ret_has_more: there are others.
 */
bool equals_find(Equals *equals, const Object *object, size_t most, const GArray **ret,
		 bool *ret_has_more, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Add the ids (uint32_t) of all objects with an anchor of @digest over the whole object, and of some that are no
 * more, to @ids.  Rising digests are found fastest.
 */
bool equals_list_anchored(Equals *equals, uint64_t digest, GArray *ids, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Equals, equals_close)
