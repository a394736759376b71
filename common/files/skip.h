/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SkipLedger - what a pass left alone, and why: a count, bytes and a few examples per reason.
 *
 * The words of the reasons are those of docs/report.md; their numbers are kept in stores, so new
 * ones go at the end.
 *
 * Thread: the filesystem's worker.
 */
typedef enum {
	SKIP_SPECIAL,
	SKIP_SMALL,
	SKIP_EXCLUDED,
	SKIP_OWN_STATE,
	SKIP_OTHER_MOUNT,
	SKIP_TOO_DEEP,
	SKIP_DENIED,
	SKIP_LEASED,
	SKIP_UNREADABLE,
	SKIP_SWAP_FILE,
	SKIP_BOOT,
	SKIP_IMMUTABLE,
	SKIP_NO_COW,
	SKIP_KEEP_ZEROS,
	SKIP_INLINE,
	SKIP_BUSY,
	SKIP_CHANGED,
	SKIP_DIFFERS,
	SKIP_NO_SPACE,
	SKIP_READ_ONLY,
	SKIP_REALTIME,
	SKIP_UNSUPPORTED,
	/* Stores may know 22 as "capped", which nothing is skipped for any more. */
	SKIP_NO_TEMPORARY_FILE = 23, /* to be shared with zeros */
	SKIP_NO_SUMS,                /* btrfs: data without checksums, or nothing written yet */
	SKIP_PINNED,                 /* btrfs: sharing it would free nothing */
	SKIP_DOUBTFUL,               /* btrfs: too much was compared in vain in this pass */
	SKIP_READ_ONLY_SNAPSHOT,     /* btrfs: --read-only-snapshots leaves it alone */
	SKIP_OUTSIDE,                /* btrfs: of places that are no part of the pass */
	SKIP_NEEDS_READING,          /* btrfs: compressed, and equal in part */
	SKIP_PIECES,                 /* btrfs: it would leave files in too many pieces */
	SKIP_METADATA,               /* btrfs: metadata would grow by more than is freed */
	SKIP_NO_METADATA_SPACE,      /* btrfs: little room is left for metadata */
	SKIP_OTHER_OWNER,            /* --across-owners=no: what equals it is somebody else's */
	SKIP_YOUNG,                  /* --min-age: it was written to a moment ago */
	SKIP_CHANGES_OFTEN,          /* it was found changed time and again: see RescanBackoff */
	SKIP_STORE_LIMIT,            /* the store has reached StoreLimit= */
	SKIP_STATE_SPACE,            /* little room is left where the store lies */
	SKIP_LARGE_OFFSET, /* read: data beyond 2^32 - 1 blocks of a file has no anchors */
	SKIP_MANY_NAMES,   /* btrfs: finding out where it lies would take too long */
	SKIP_CLONES,       /* clones refer to it: freeing it would take too much comparing */
	SKIP_REASONS,
} SkipReason;

/* Whether the next pass may do what this one could not. */
bool skip_may_pass(SkipReason reason);

#define SKIP_EXAMPLES 5

typedef struct {
	uint64_t count;
	uint64_t bytes;
	char *examples[SKIP_EXAMPLES + 1]; /* escaped; NULL-terminated */
} SkipEntry;

typedef struct {
	SkipEntry entries[SKIP_REASONS];
} SkipLedger;

/* Whether it is one of these: a store may have the number of another one, from a newer version. */
bool skip_reason_is_known(uint32_t number);

const char *skip_reason_name(SkipReason reason);

/* The reason of that name; false: there is none. */
bool skip_reason_parse(const char *name, SkipReason *ret);

/*
 * Count @bytes left alone for @reason.  @path, raw bytes and NUL-terminated, is kept as an example
 * while there is room, cut if it is long (ShortPath); NULL when there is none to give.
 */
void skip_ledger_add(SkipLedger *ledger, SkipReason reason, uint64_t bytes, const char *path);

/* Whether another example would be kept: spares finding out the path. */
bool skip_ledger_wants_example(const SkipLedger *ledger, SkipReason reason);

void skip_ledger_clear(SkipLedger *ledger);
