/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * PinCause - why a btrfs data extent with duplicates stays.  PinLedger - what a pass found pinned: a count,
 * bytes and a few examples per cause.
 *
 * docs/report.md has the words of the causes.  Stores keep their numbers, so add new ones at the end.
 *
 * Thread: the filesystem's worker.
 */
typedef enum {
	PIN_NONE,          /* not pinned, or for a cause that is not stored */
	PIN_UNCOVERED,     /* a file shows a part of it that nothing else has */
	PIN_DELETED_FILE,  /* the same, for a file that is deleted and still open */
	PIN_DIFFERS,       /* extents with equal checksums differ */
	PIN_NEEDS_READING, /* compressed, and only a part has duplicates */
	PIN_UNFIT_SOURCES, /* all of it has duplicates, but none can replace it */
	PIN_TOO_COSTLY,    /* sharing all references would compare more than MaxCompare= allows */
	PIN_READ_ONLY_SNAPSHOT, /* --read-only-snapshots keeps a reference */
	PIN_IMMUTABLE,          /* a file that shows it must not be changed */
	PIN_RESERVED,           /* a file has preallocated space in it */
	PIN_DELETED_SUBVOLUME,  /* a subvolume that btrfs is still deleting has it */
	PIN_PIECES,             /* a file would have too many pieces */
	PIN_METADATA,           /* metadata would grow by more than it frees */
	PIN_KEEP_ZEROS,         /* its remainder is zeros that are to stay */
	PIN_SNAPSHOTS,          /* shared elsewhere; deleting read-only snapshots frees it */
	/* A copy of its remainder would take much of the free space while snapshots hold the extent. */
	PIN_COPY_SPACE,
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
 * Count an extent of @bytes.  @path, raw bytes and NUL-terminated, is kept as an example while there is room;
 * NULL: none.  PIN_NONE is not counted.
 */
void pin_ledger_add(PinLedger *ledger, PinCause cause, uint64_t bytes, uint64_t uncovered_bytes,
		    uint64_t places, const char *path);

/* True if another example would be kept, so that its path is worth finding. */
bool pin_ledger_wants_example(const PinLedger *ledger, PinCause cause);

void pin_ledger_clear(PinLedger *ledger);
