/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/read-only-subvolumes.h"
#include "hashstore/hash-store.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ObjectTable - a few facts about each object by its id, for planning: 8 bytes per id in a mapped
 * temporary file.
 *
 * When few objects are unsettled little is asked, and each object is looked up in the store when it
 * is asked for first; when many are, or many are asked for after all, the store is read from end to
 * end.  What cannot be read counts as a live source until object_table_take_error() tells.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ObjectTable ObjectTable;

typedef enum {
	FACT_LIVE = 1 << 0,    /* fingerprinted, and still in the store */
	FACT_SETTLED = 1 << 1, /* matched with everything before this pass */
	/* Not met by this pass's walk, or an extent of which a place is not: may be a source only. */
	FACT_OUTSIDE = 1 << 2,
	FACT_IMMUTABLE = 1 << 3,
	FACT_NO_COW = 1 << 4,
	FACT_SHARED = 1 << 5,
	FACT_KEEP_ZEROS = 1 << 6,
	FACT_NOTED = 1 << 7,    /* counted as skipped */
	FACT_FOREIGN = 1 << 8,  /* this process may not share onto it */
	FACT_MOVED = 1 << 9,    /* an extent that was shared in this pass: no source any more */
	FACT_PINNED = 1 << 10,  /* an extent of which sharing would free nothing: may be a source */
	FACT_STRETCH = 1 << 11, /* extents side by side in one file: only matched */
	FACT_HOT =
		1 << 12, /* a file that others have in the page cache, which sharing onto empties */
	FACT_READ_ONLY = 1 << 13, /* in a subvolume that nothing is shared onto */
	FACT_BARRED = 1 << 14,    /* neither target nor source, as the user wants it */
	FACT_EXTENT = 1 << 15,    /* a data extent, or a stretch of them, not a file */
	FACT_PLAIN = 1 << 16,   /* a file whose extents are objects of their own: may be a source */
	FACT_PLACED = 1 << 17,  /* whose places were looked up */
	FACT_AWAY = 1 << 18,    /* none of them is part of the pass: neither source nor target */
	FACT_LIMITED = 1 << 19, /* a pass with other limits may share it */
	FACT_LOCKED = 1 << 20,  /* an extent that others were shared with before its turn came */
	FACT_HELD = 1 << 21,    /* one that snapshots hold: a source for its equals only */
} ObjectFacts;

/* With any of these it cannot be a target. */
#define FACTS_SOURCE_ONLY                                                                          \
	(FACT_SETTLED | FACT_OUTSIDE | FACT_IMMUTABLE | FACT_FOREIGN | FACT_PINNED |               \
	 FACT_READ_ONLY | FACT_PLAIN | FACT_LOCKED)

/* What makes an object a source rather than a target. */
typedef enum {
	RANK_BY_GAIN, /* its entries in groups with others; all objects are files */
	/*
	 * Of extents their size, before those, in few classes: where what is equal is cut at other
	 * places, the extents of the copy that was found first all are to stay, and within a class
	 * they come in order of their addresses.  Zeros, which are given back with a target only,
	 * count against it.  What is said of a stretch goes for the extents in it, so both have one
	 * rank.
	 */
	RANK_BY_SIZE,
} RankBy;

/*
 * Of all objects that @store has, or of some when it was asked to stop.  All is borrowed; @subvolumes
 * may be NULL: then none is read-only.
 */
ObjectTable *object_table_new(HashStore *store, RankBy by, const Settings *settings,
			      ReadOnlySubvolumes *subvolumes, GError **error);
void object_table_free(ObjectTable *table);

/* False, with the error, if something could not be read so far. */
bool object_table_take_error(ObjectTable *table, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* 0 for an id that no object has. */
unsigned object_table_facts(ObjectTable *table, uint32_t object);
void object_table_add_fact(ObjectTable *table, uint32_t object, ObjectFacts fact);
void object_table_remove_fact(ObjectTable *table, uint32_t object, ObjectFacts fact);

/* Count one more entry that the object has in groups with others; of extents they do not matter. */
void object_table_count(ObjectTable *table, uint32_t object);

/*
 * The object's place in the order of this pass, its id in the lower 32 bits.  In a group the lower
 * rank is the source; targets are worked on from the lowest rank up, so a source is never changed
 * after something was shared with it.  First come objects that cannot be targets
 * (FACTS_SOURCE_ONLY), then those whose blocks are shared already, then hot ones, then those with most to gain;
 * of btrfs's extents the larger ones.  Of both kinds those come last that snapshots hold.
 */
uint64_t object_table_rank(ObjectTable *table, uint32_t object);

/* For groups_open(): whether the object may be matched; @data is the ObjectTable. */
bool object_table_is_live(uint32_t object, void *data);

/* For hash_store_settle(): whether what the store has of the object is still of use. */
bool object_table_is_kept(uint32_t object, void *data);

/* Whether it is an extent that counts as one of 128 KiB or more when ranked. */
bool object_table_is_long(ObjectTable *table, uint32_t object);

/* Which of the two the object is; @data is the ObjectTable. */
bool object_table_is_extent(uint32_t object, void *data);
bool object_table_is_file(uint32_t object, void *data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectTable, object_table_free)
