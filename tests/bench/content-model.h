/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * ContentModel - the content of any number of objects (files, or extents of btrfs), without keeping any of it.
 *
 * Objects have numbers from 0.  The seed and the number alone decide everything about an object: its length, of
 * which runs of blocks it consists, and the content of each block.  So a benchmark can make terabytes, and make a
 * part of them again.
 *
 * Lengths: 1 to 8192 blocks, many short and few long ones, 310 on average (1.2 MiB with blocks of 4 KiB).
 *
 * An object is of one of three kinds:
 *
 *     fresh    all of its blocks are new
 *     copy     of a whole fresh object with a lower number
 *     mixed    runs of about 32 blocks (a geometric distribution): three of four are parts of fresh objects
 *
 * Half of the duplicate blocks lie in copies.  An eighth of the sources are among the first 1024 objects, the others
 * are any earlier ones.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	uint64_t seed;
	double reclaimable; /* the share of blocks that equal an earlier one */
} ContentModel;

/* Consecutive blocks of the fresh content of one object. */
typedef struct {
	uint64_t origin; /* number of that object */
	uint32_t first;
	uint32_t blocks;
} ContentRun;

/* ContentCursor - the runs of one object in order. */
typedef struct {
	const ContentModel *model; /* borrowed */
	uint64_t number;
	uint64_t chance; /* state of the random numbers */
	uint32_t blocks; /* of the object */
	uint32_t next;   /* its next block */
} ContentCursor;

/*
 * The share that was measured for a published data set, by its name; a negative number for others.  See
 * content_model_shapes().
 */
double content_model_shape(const char *name);

/* The names, separated by spaces. */
const char *content_model_shapes(void);

/* Whether object @number is a copy of a whole object. */
bool content_model_is_copy(const ContentModel *model, uint64_t number);

/* The length of object @number. */
uint64_t content_model_bytes(const ContentModel *model, uint64_t number, uint32_t block_bytes);

void content_cursor_init(ContentCursor *cursor, const ContentModel *model, uint64_t number);

/* False at the end. */
bool content_cursor_next(ContentCursor *cursor, ContentRun *ret);

/* The sum of block @i of @run. */
uint64_t content_run_sum(const ContentModel *model, const ContentRun *run, uint32_t i);
