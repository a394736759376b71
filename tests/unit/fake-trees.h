/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/snapshots/subvolume-trees.h"

#include <stddef.h>
#include <stdint.h>

/* FakeTrees - nodes of btrfs trees, for code that reads them through a NodeReader. */
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
	/* The subvolumes when they are read again (BtrfsSubvolume). */
	const void *now;
	size_t n_now;
} FakeTrees;

/* A NodeReader; @data is FakeTrees.  A missing node counts as reused. */
bool fake_trees_read(void *data, uint64_t bytenr, uint64_t generation, uint8_t level,
		     BtrfsNode *ret, GError **error);

/* The callback of TreeSource. */
bool fake_trees_read_subvolumes(void *data, GArray **ret, GError **error);
