/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "hashstore/objects/objects.h"
#include "tests/unit/scratch.h"

/*
 * PassFixture - a Pass over a scratch directory that says it is an XFS, with a store of its own.
 *
 * What fails in here fails the test.
 */
typedef struct {
	Scratch *scratch;
	Settings settings;
	Filesystem filesystem;
	PassResult result;
	Progress progress;
	atomic_bool stop;
	Pass pass;
	FileOpener *opener;
} PassFixture;

#define FIXTURE_BLOCK_BYTES   4096
#define FIXTURE_ANCHOR_BLOCKS 4

PassFixture *pass_fixture_new(void);
void pass_fixture_free(PassFixture *fixture);

/* Add a fingerprinted object of so many whole blocks, named "object-ID"; returns its id. */
uint32_t pass_fixture_put(PassFixture *fixture, uint64_t blocks, unsigned flags);

/* The same with all that @object says but its id, name, and what it leaves 0 of where it lies. */
uint32_t pass_fixture_put_object(PassFixture *fixture, const Object *object);

void pass_fixture_put_anchor(PassFixture *fixture, uint64_t digest, uint32_t object,
			     uint32_t block);

/* All objects so far are settled. */
void pass_fixture_settle(PassFixture *fixture);

/* Commits, and makes the table of what is in the store. */
ObjectTable *pass_fixture_table(PassFixture *fixture);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PassFixture, pass_fixture_free)
