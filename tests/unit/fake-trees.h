/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/subvolume-trees.h"

#include <stddef.h>
#include <stdint.h>

/*
 * FakeTrees - nodes of trees as a btrfs would have them, for who reads them by a NodeReader.
 */
#define FAKE_CHILDREN_MAX 4

typedef struct {
	uint64_t bytenr;
	uint64_t generation;
	uint64_t owner;
	uint8_t level;
	size_t n_children;
	BtrfsNodeChild children[FAKE_CHILDREN_MAX];
} FakeNode;

typedef struct {
	const FakeNode *nodes;
	size_t n_nodes;
	unsigned n_reads;
	/* The subvolumes that there are when they are read again (BtrfsSubvolume). */
	const void *now;
	size_t n_now;
} FakeTrees;

/* A NodeReader; @data is FakeTrees.  What is not there was reused. */
bool fake_trees_read(void *data, uint64_t bytenr, uint64_t generation, uint8_t level,
		     BtrfsNode *ret, GError **error);

/* As TreeSource has it. */
bool fake_trees_read_subvolumes(void *data, GArray **ret, GError **error);
