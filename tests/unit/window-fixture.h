/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/dedupe-window.h"
#include "tests/unit/scratch.h"

#define FIXTURE_BLOCK 4096

/*
 * A file as two texts, of which each character is a block: its content, '0' for zeros; and its place, a letter for an
 * address, and in upper case if others use the block, too.  A place may be '.', a hole; '~', unwritten; '!', not
 * written out; or '^', inline.
 */
typedef struct {
	const char *content, *places;
	unsigned cut_bytes; /* the last block has so many less */
} Picture;

/*
 * WindowFixture - a DedupeWindow, its two files, and a pass with its account.  The ioctl() of the program says where the
 * files lie.  A failure in it fails the test.
 */
typedef struct {
	Scratch *scratch;
	Throttle *throttle;
	atomic_bool stop;
	DedupeWindow *window;
	OpenObject *target, *source;
	Settings settings;
	PassResult result;
	Progress progress;
	Pass pass;
} WindowFixture;

void window_fixture_set_up(WindowFixture *fixture, const void *data);
void window_fixture_tear_down(WindowFixture *fixture, const void *data);

/* Have two files, with the ids 1 and 2; @source may be NULL. */
void window_fixture_draw(WindowFixture *fixture, const Picture *target, const Picture *source);

/* Blocks of the file lie elsewhere from now on; NULL: it cannot be mapped. */
void window_fixture_move(const OpenObject *object, const char *places);

/* From now on the files lie on an XFS with allocation groups of so many blocks, and belong to the project. */
void window_fixture_pose_as_xfs(uint32_t group_blocks, uint32_t project);

/* Call dedupe_window_map(). */
void window_fixture_map(WindowFixture *fixture, uint64_t diagonal, uint64_t first, size_t n);

/*
 * The states of all blocks, a character each: '-' unusable, 's' the same place, 'c' a candidate, '=' equal, '0' zero,
 * 'x' different, 'r' deferred, as it has other references.
 */
void window_fixture_assert_states(const WindowFixture *fixture, const char *expected);
