/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * PinCause - why a data extent of btrfs that equals others stays; and PinLedger, what a pass found so: a
 * count, bytes and a few examples per cause.
 *
 * The words of the causes are those of docs/report.md; their numbers are kept in stores, so new ones
 * go at the end.
 *
 * Thread: the filesystem's worker.
 */
typedef enum {
	PIN_NONE,          /* it is not pinned, or for a reason that is not remembered */
	PIN_UNCOVERED,     /* a file shows part of it that nothing else has */
	PIN_DELETED_FILE,  /* the same of a file that is deleted and still open */
	PIN_DIFFERS,       /* what has equal checksums there is not equal */
	PIN_NEEDS_READING, /* it is compressed, and equal to others in part */
	PIN_UNFIT_SOURCES, /* all of it has equals, which cannot take its place */
	PIN_TOO_COSTLY,    /* to share all places more would be compared than MaxCompare= allows */
	PIN_READ_ONLY_SNAPSHOT, /* --read-only-snapshots keeps a place */
	PIN_IMMUTABLE,          /* a file that shows it must not be changed */
	PIN_RESERVED,           /* a file keeps part of it for what is not written yet */
	PIN_DELETED_SUBVOLUME,  /* a subvolume that btrfs has not done away with yet has it */
	PIN_PIECES,             /* it would leave a file in too many pieces */
	PIN_METADATA,           /* metadata would grow by more than it frees */
	PIN_KEEP_ZEROS,         /* what is left of it are zeros that are to stay */
	PIN_SNAPSHOTS, /* it was shared elsewhere, and goes when read-only snapshots are deleted */
	PIN_CAUSES,
} PinCause;

#define PIN_EXAMPLES 5

typedef struct {
	char *path; /* escaped */
	uint64_t uncovered_bytes;
	uint64_t places;
} PinExample;

typedef struct {
	uint64_t count;
	uint64_t bytes;
	uint64_t uncovered_bytes;
	PinExample examples[PIN_EXAMPLES];
	size_t n_examples;
} PinEntry;

typedef struct {
	PinEntry entries[PIN_CAUSES];
} PinLedger;

const char *pin_cause_name(PinCause cause);

/*
 * Count an extent of @bytes.  @path, raw bytes and NUL-terminated, is kept as an example while there
 * is room; NULL when there is none to give.  PIN_NONE is not counted.
 */
void pin_ledger_add(PinLedger *ledger, PinCause cause, uint64_t bytes, uint64_t uncovered_bytes,
		    uint64_t places, const char *path);

/* Whether another example would be kept: spares finding out the path. */
bool pin_ledger_wants_example(const PinLedger *ledger, PinCause cause);

void pin_ledger_clear(PinLedger *ledger);
