/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"

/*
 * ObjectRecord - an object as the store keeps it: all but its key and id in one small BLOB.
 *
 * Numbers are of variable length and times differences of each other, for an unchanged pass reads
 * every record: about 40 bytes and the name.
 *
 * Thread: any.
 */

/* Append the record of @object to @bytes. */
void object_record_write(const Object *object, GByteArray *bytes);

/*
 * Set what the record says in @ret, whose key and id the caller sets; its name points into @bytes.
 * False if it is no record.
 */
bool object_record_read(const uint8_t *bytes, size_t n_bytes, Object *ret);
