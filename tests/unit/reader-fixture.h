/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/file-reader.h"
#include "tests/unit/scratch.h"

#include <stdatomic.h>

/*
 * Fixture - a directory with one file, its throttle, and a clock that advances only by sleeping.  A failure in it fails
 * the test.
 */
#define MIB    (UINT64_C(1) << 20)
#define WINDOW (16 * MIB)

typedef struct {
	Scratch *scratch;
	Throttle *throttle;
	int64_t now_usec;
	atomic_bool stop;
} Fixture;

Fixture *fixture_new(uint64_t rate_bytes);
void fixture_free(Fixture *fixture);

/* False, and the test is skipped: the file is on tmpfs, which is page cache. */
bool can_drop(const Fixture *fixture);

/* Make the file, without cached pages. */
int create_cold(Fixture *fixture, size_t size);
void make_cold(Fixture *fixture, size_t size);

/* The same, of a hole. */
int create_cold_hole(Fixture *fixture, uint64_t size);

FileReader *open_reader(Fixture *fixture, uint64_t size);
void read_well(FileReader *reader, uint64_t offset, uint64_t length);

/* The bytes charged so far are @expected, at a limit of 1 MiB per second. */
void assert_charged(Fixture *fixture, uint64_t expected);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fixture, fixture_free)
