/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/object-table.h"
#include "daemon/context/pass.h"
#include "hashstore/objects/objects.h"
#include "tests/unit/scratch.h"

/*
 * PassFixture - a Pass over a scratch directory that poses as an XFS filesystem, with a store of its own.  A
 * failure in it fails the test.
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
	FilesystemRoot top; /* of pass_fixture_pose_as_btrfs() */
} PassFixture;

#define FIXTURE_BLOCK_BYTES   4096
#define FIXTURE_ANCHOR_BLOCKS 4

PassFixture *pass_fixture_new(void);
void pass_fixture_free(PassFixture *fixture);

/* From now on the filesystem is a btrfs whose top level is mounted; @fd is open on it.  The store lies on another one. */
void pass_fixture_pose_as_btrfs(PassFixture *fixture, int fd);

/* Add a fingerprinted object of @blocks whole blocks, named "object-ID".  Returns its id. */
uint32_t pass_fixture_put(PassFixture *fixture, uint64_t blocks, unsigned flags);

/* The same with the fields of @object, except id, name, and those of its place that are 0. */
uint32_t pass_fixture_put_object(PassFixture *fixture, const Object *object);

/* Put the fixture's directory as the start of the walk, so that files are found by name.  Returns its inode. */
uint64_t pass_fixture_put_root(PassFixture *fixture);

/* Make a file there, and add it as a fingerprinted object.  Returns its id. */
uint32_t pass_fixture_put_file(PassFixture *fixture, size_t size_bytes, unsigned flags);

void pass_fixture_put_anchor(PassFixture *fixture, uint64_t digest, uint32_t object,
			     uint32_t block);

/* Settle all objects so far. */
void pass_fixture_settle(PassFixture *fixture);

/* Commit, and make the table of the store's objects. */
ObjectTable *pass_fixture_table(PassFixture *fixture);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PassFixture, pass_fixture_free)
