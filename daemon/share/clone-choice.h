/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/block-set.h"
#include "daemon/share/clone-pairs.h"
#include "daemon/share/clone-refs.h"

/*
 * CloneChoice - which side of a pair of equal ranges is freed, and through which references.
 *
 * A pure decision, for one range after another.  Thread: the filesystem's worker.
 */
typedef struct {
	const CloneRefs *refs;
	const BlockSet *moved; /* blocks of the disk that were targets: their references are gone */
	const BlockSet *kept;  /* blocks that were sources: they have more references by now */
	bool (*may_be_target)(uint32_t object, void *data);
	void *data;
	GArray *target_refs; /* CloneRef: those that were found last, of either side */
	GArray *source_refs;
} CloneChooser;

/* The decision for the first @blocks blocks of a pair. */
typedef struct {
	uint64_t blocks;
	bool is_void; /* there is nothing to do */
	uint64_t target_place;
	uint64_t source_place; /* CLONE_PLACE_HOLE: a hole */
	uint64_t source_block;
	uint32_t source;
	size_t n_targets;      /* 0, or more than clone_refs_most(): they cannot be freed */
	const GArray *targets; /* CloneRef; valid until the next choice */
} CloneChoice;

/* Choose for the blocks of @pair from @offset on. */
void clone_choose(const CloneChooser *chooser, const ClonePair *pair, uint64_t offset,
		  CloneChoice *ret);
