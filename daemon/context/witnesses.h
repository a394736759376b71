/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

/*
 * Witnesses - facts about some files of a filesystem.  By these a later pass tells whether the filesystem was set
 * back to an older state.
 *
 * A witness is a place in a file, and two values that were measured there.  The store keeps the
 * latest 32, so that some are younger than the state that the filesystem is set back to.  It also
 * keeps 32 chosen at random from all earlier ones, so that some are older.
 *
 * Thread: as Pass.
 */
typedef struct {
	uint64_t subvolume;
	uint64_t inode;
	uint64_t offset; /* byte */
	uint64_t values[2];
} Witness;

#define WITNESSES_LATEST 32
#define WITNESSES_OLD    32

typedef struct {
	uint64_t until; /* the last transaction of btrfs that they tell of */
	uint64_t n_old; /* of how many the old ones were chosen */
	GArray *old;    /* Witness */
	GArray *latest; /* Witness, by age */
} Witnesses;

/* Without any. */
Witnesses *witnesses_new(void);
void witnesses_free(Witnesses *witnesses);

/* Load those that are noted under @name; damaged ones are dropped. */
bool witnesses_load(HashStore *store, const char *name, Witnesses **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool witnesses_save(const Witnesses *witnesses, HashStore *store, const char *name, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

size_t witnesses_count(const Witnesses *witnesses);

/* The one at @i, old ones first, until others are added. */
Witness *witnesses_at(const Witnesses *witnesses, size_t i);

/* Add one that is younger than all others, unless there is one of the same place. */
void witnesses_add(Witnesses *witnesses, const Witness *witness);

/* Whether to keep the witness, *ret, with the values that it may change.  False: this failed. */
typedef bool (*WitnessKeep)(Witness *witness, void *data, bool *ret, GError **error);

/* Keep those for which @keep says true.  False: it failed. */
bool witnesses_filter(Witnesses *witnesses, WitnessKeep keep, void *data, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* WitnessSample - places, chosen at random from all that are added. */
#define WITNESS_SAMPLE 16

typedef struct {
	uint64_t n_added;
	Witness places[WITNESS_SAMPLE]; /* without values */
} WitnessSample;

void witness_sample_add(WitnessSample *sample, uint64_t subvolume, uint64_t inode, uint64_t offset);
size_t witness_sample_count(const WitnessSample *sample);

/* Add the places of @sample for which @keep says true, with the values that it gives them.  False: it failed. */
bool witnesses_add_sample(Witnesses *witnesses, const WitnessSample *sample, WitnessKeep keep,
			  void *data, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Witnesses, witnesses_free)
