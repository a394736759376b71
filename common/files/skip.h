/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SkipLedger - what a pass skipped, and why: a count, bytes and a few examples per reason.
 *
 * docs/report.md has the words of the reasons.  Stores keep their numbers, so add new ones at the end.
 *
 * Thread: one at a time.
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
	/* Number 22 was "capped" in older stores; it is not used any more. */
	SKIP_NO_TEMPORARY_FILE = 23, /* for sharing zeros */
	SKIP_NO_SUMS,                /* btrfs: data without checksums, or not written yet */
	SKIP_PINNED,                 /* btrfs: sharing it would free nothing */
	SKIP_DOUBTFUL,               /* btrfs: too many comparisons failed in this pass */
	SKIP_READ_ONLY_SNAPSHOT,     /* btrfs: --read-only-snapshots skips it */
	SKIP_OUTSIDE,                /* btrfs: references outside the pass */
	SKIP_NEEDS_READING,          /* btrfs: compressed, and only a part has duplicates */
	SKIP_PIECES,                 /* btrfs: files would have too many pieces */
	SKIP_METADATA,               /* btrfs: metadata would grow by more than is freed */
	SKIP_NO_METADATA_SPACE,      /* btrfs: little space is left for metadata */
	SKIP_OTHER_OWNER,            /* --across-owners=no: its duplicates have another owner */
	SKIP_YOUNG,                  /* --min-age: it was written too recently */
	SKIP_CHANGES_OFTEN,          /* repeatedly found changed: see RescanBackoff */
	SKIP_STORE_LIMIT,            /* the store has reached StoreLimit= */
	SKIP_STATE_SPACE,            /* little space is left where the store lies */
	SKIP_LARGE_OFFSET, /* read: data beyond 2^32 - 1 blocks of a file has no anchors */
	SKIP_MANY_NAMES,   /* btrfs: finding its paths would take too long */
	SKIP_CLONES,       /* clones reference it: freeing it would compare too much */
	SKIP_REASONS,
} SkipReason;

/* True if the next pass may succeed where this one did not. */
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

/* False for the number of a reason that only a newer version knows. */
bool skip_reason_is_known(uint32_t number);

const char *skip_reason_name(SkipReason reason);

/* The reason with this name; false: none. */
bool skip_reason_parse(const char *name, SkipReason *ret);

/*
 * Count @bytes skipped for @reason.  @path, raw bytes and NUL-terminated, is kept as an example while there is
 * room, and cut if it is long (ShortPath); NULL: none.
 */
void skip_ledger_add(SkipLedger *ledger, SkipReason reason, uint64_t bytes, const char *path);

/* True if another example would be kept, so that its path is worth finding. */
bool skip_ledger_wants_example(const SkipLedger *ledger, SkipReason reason);

void skip_ledger_clear(SkipLedger *ledger);
