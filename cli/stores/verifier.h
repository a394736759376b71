/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Verifier - computes the hashes of objects again and compares them with the store.  It reads whole files, and
 * the checksums of btrfs extents.
 *
 * It changes nothing, but dirty data of the files is written out.  Data that was not in the page cache before
 * is dropped from it.
 *
 * Thread: one at a time.
 */
typedef struct Verifier Verifier;

typedef enum {
	VERIFIED_RIGHT,
	VERIFIED_STALE, /* the object is gone or changed; the next pass will notice */
	VERIFIED_WRONG, /* its stamp holds, but its data differs from the store */
	VERIFIED_UNREADABLE,
	N_VERIFIED,
} Verified;

/*
 * @store and @fd, a directory of its filesystem, are borrowed.  @rate_bytes is the read limit per second; 0:
 * none.
 */
Verifier *verifier_new(HashStore *store, int fd, FsKind kind, uint64_t rate_bytes, GError **error);
void verifier_free(Verifier *verifier);

/* Whether @object can be verified: it was fingerprinted completely, and is no stretch of extents. */
bool verifier_takes(const Verifier *verifier, const Object *object);

bool verifier_look(Verifier *verifier, const Object *object, Verified *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Bytes of files read so far. */
uint64_t verifier_read_bytes(const Verifier *verifier);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Verifier, verifier_free)
