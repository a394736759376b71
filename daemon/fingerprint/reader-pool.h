/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/throttle.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ReaderPool - threads that read pieces of files, in the order in which these lie on the disk.
 *
 * The owner puts pieces, in whatever order, and waits for each; what is put and not read yet is the
 * window in which the pool goes up the disk, and begins anew at its lower end (C-SCAN).  It is for
 * the owner to bound it.  A file is read by one reader at a time.  Before it reads a piece a reader
 * has the disk fetch the few after it which do not go on from another: with one reader all of it is
 * one stream in rising order.
 *
 * Pieces are the owner's.  It neither touches nor frees one between putting it and
 * reader_pool_wait(), or reader_pool_withdraw(), for it.
 *
 * Thread: the owner; what is in ReaderPoolWork is called by the readers.
 */
typedef struct ReaderPool ReaderPool;

typedef enum {
	PIECE_QUEUED,
	PIECE_READING,
	PIECE_DONE,
	PIECE_WITHDRAWN,
} PieceState;

typedef struct {
	/* Set by the owner before it is put. */
	void *file; /* of whatever kind: equal for pieces of one file */
	uint64_t physical;
	uint64_t length;
	bool goes_on; /* from the piece before it in the file: the kernel's readahead is there already */
	bool is_cached; /* nothing of it is to be fetched */

	/* The pool's, guarded by its mutex. */
	uint64_t number;
	PieceState state;
	bool is_fetched;
	unsigned n_fetching;
} Piece;

typedef struct {
	/* Read @piece, which embeds a Piece; @reader counts from 0. */
	void (*read)(Piece *piece, unsigned reader, void *data);
	/* Have the disk start reading @piece; may do nothing. */
	void (*fetch)(const Piece *piece, void *data);
	void *data;
	Throttle *throttle; /* that the readers join, as long as they are there; NULL: none */
} ReaderPoolWork;

/* @n_readers threads, at least one; NULL where none can be started. */
ReaderPool *reader_pool_new(unsigned n_readers, const ReaderPoolWork *work, GError **error);

/*
 * Have the readers end: all pieces were waited for, or withdrawn.  What they made disks read, in
 * bytes, as far as it is known: see thread_io_read_bytes().
 */
uint64_t reader_pool_end(ReaderPool *pool);

/* Ends the readers, too.  Accepts NULL. */
void reader_pool_free(ReaderPool *pool);

void reader_pool_put(ReaderPool *pool, Piece *piece);

/*
 * Have the readers begin no piece until it is unplugged: what is put meanwhile is read in order, not
 * as it comes, and nothing else is read beside what the owner reads itself.  It may not wait for a
 * piece meanwhile.
 */
void reader_pool_plug(ReaderPool *pool);
void reader_pool_unplug(ReaderPool *pool);

/* Until @piece was read. */
void reader_pool_wait(ReaderPool *pool, Piece *piece);

/* Until nobody has to do with @piece any more, read or not. */
void reader_pool_withdraw(ReaderPool *pool, Piece *piece);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReaderPool, reader_pool_free)
