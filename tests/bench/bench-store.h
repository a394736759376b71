/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * BenchStore - a store that a benchmark makes, forgets the cached pages of, and removes, and what
 * else such benchmarks measure with.  What fails ends the program with what was wrong.
 *
 * Thread: main.
 */
typedef struct {
	const char *directory;   /* on a real disk */
	const char *uuid;        /* so that benchmarks may share the directory */
	size_t memory_bytes;     /* for sorting */
	const char *kind;        /* of the filesystem; NULL: btrfs */
	uint32_t anchor_blocks;  /* k; 0: 4 */
	uint32_t window_anchors; /* w; 0: 16 */
	const atomic_bool *stop; /* or NULL */
} BenchStore;

/* Open it; with @rebuild as an empty one. */
HashStore *bench_store_open(const BenchStore *bench, bool rebuild);

/* Put the closed store out of the page cache, and nothing else: the rest is others' too. */
void bench_store_forget_cached(const BenchStore *bench);

/* Delete its files, be there any or not. */
void bench_store_remove(const BenchStore *bench);

/* End the program with what is in @error by then unless @done. */
void bench_store_check(bool done, GError *const *error);

/* Monotonic. */
double bench_store_seconds(void);

/* Seconds that all threads of this process spent on a processor. */
double bench_store_cpu_seconds(void);

/*
 * Read from disks so far by all threads, as the store looks ahead with some of its own; 0 where the
 * kernel does not tell.
 */
uint64_t bench_store_read_bytes(void);

/* Bytes given to write(2) and the like so far, by all threads; 0 where the kernel does not tell. */
uint64_t bench_store_written_bytes(void);

/* A bijection of 64-bit numbers that looks random (splitmix64). */
uint64_t bench_store_mix(uint64_t number);
