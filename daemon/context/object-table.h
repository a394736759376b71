/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/read-only-subvolumes.h"
#include "hashstore/hash-store.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ObjectTable - a few facts about each object by its id, for planning: 8 bytes per id in a mapped temporary file.
 *
 * If few objects are unsettled, the table looks up each object in the store when it is first asked for.  If many
 * are unsettled, or are asked for, it reads the whole store.  An object that cannot be read counts as a live source
 * until object_table_take_error() reports the error.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ObjectTable ObjectTable;

typedef enum {
	FACT_LIVE = 1 << 0,    /* fingerprinted, and still in the store */
	FACT_SETTLED = 1 << 1, /* matched with everything before this pass */
	/* The walk of this pass did not meet it, or a reference to the extent lies outside: a source only. */
	FACT_OUTSIDE = 1 << 2,
	FACT_IMMUTABLE = 1 << 3,
	FACT_NO_COW = 1 << 4,
	FACT_SHARED = 1 << 5,
	FACT_KEEP_ZEROS = 1 << 6,
	FACT_NOTED = 1 << 7,      /* counted as skipped */
	FACT_FOREIGN = 1 << 8,    /* this process may not share onto it */
	FACT_MOVED = 1 << 9,      /* an extent that was shared in this pass: no source any more */
	FACT_PINNED = 1 << 10,    /* an extent that sharing would not free: may be a source */
	FACT_STRETCH = 1 << 11,   /* a stretch: only matched */
	FACT_HOT = 1 << 12,       /* others have its pages cached: a target would lose them */
	FACT_READ_ONLY = 1 << 13, /* in a subvolume that may have no targets */
	FACT_BARRED = 1 << 14,    /* neither target nor source, as the user wants it */
	FACT_EXTENT = 1 << 15,    /* a data extent, or a stretch of them, not a file */
	FACT_PLAIN = 1 << 16,   /* a file whose extents are objects of their own: may be a source */
	FACT_PLACED = 1 << 17,  /* its references were looked up */
	FACT_AWAY = 1 << 18,    /* no reference is part of the pass: neither source nor target */
	FACT_LIMITED = 1 << 19, /* a pass with other limits may share it */
	FACT_LOCKED = 1 << 20,  /* an extent that became a source before its own turn */
	FACT_HELD = 1 << 21,    /* an extent that snapshots hold: a source for its equals only */
	FACT_SERVED = 1 << 22,  /* an extent that was a source in this pass: it gained references */
} ObjectFacts;

/* With any of these it cannot be a target. */
#define FACTS_SOURCE_ONLY                                                                          \
	(FACT_SETTLED | FACT_OUTSIDE | FACT_IMMUTABLE | FACT_FOREIGN | FACT_PINNED |               \
	 FACT_READ_ONLY | FACT_PLAIN | FACT_LOCKED)

/* How objects are ranked: a source has a lower rank than its targets. */
typedef enum {
	RANK_BY_GAIN, /* its entries in groups with others; all objects are files */
	/*
	 * For extents: by size, in few classes, before the number of entries.  So all extents of the copy that was
	 * found first stay, even if equal data is cut elsewhere; within a class the order is that of addresses.
	 * Zeros count against an extent.  Extents of a stretch have its rank.
	 */
	RANK_BY_SIZE,
} RankBy;

/*
 * Facts of all objects that @store has, or of some if it was asked to stop.  All is borrowed.  @subvolumes may be
 * NULL: then none is read-only.
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
 * The object's place in the order of this pass, with its id in the lower 32 bits.  Of a group, the lower rank is
 * the source.  Targets are processed in rising order, so a source never changes after something was shared with it.
 *
 * Order: objects that cannot be targets (FACTS_SOURCE_ONLY); not held by snapshots; blocks that are shared already;
 * hot files; most to gain (files) or larger (extents).
 */
uint64_t object_table_rank(ObjectTable *table, uint32_t object);

/* The rank without the id: its upper 32 bits. */
uint32_t object_table_rank_class(ObjectTable *table, uint32_t object);

/* For groups_open(): whether the object may be matched; @data is the ObjectTable. */
bool object_table_is_live(uint32_t object, void *data);

/* For hash_store_settle(): whether the store's record of the object is still of use. */
bool object_table_is_kept(uint32_t object, void *data);

/* Whether it is an extent that counts as one of 128 KiB or more when ranked. */
bool object_table_is_long(ObjectTable *table, uint32_t object);

/* Whether the object is an extent, or a file; @data is the ObjectTable. */
bool object_table_is_extent(uint32_t object, void *data);
bool object_table_is_file(uint32_t object, void *data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectTable, object_table_free)
