/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/throttle.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ReaderPool - threads that read pieces of files in their order on the disk.
 *
 * The owner puts pieces in any order and waits for each.  Pieces that are put and not read yet form a window.  The
 * pool goes up the disk in it, and then begins at its lower end again (C-SCAN).  The owner bounds the window.
 *
 * Through the page cache, only one reader reads a file at a time, and no more than n_cached readers read at all.  Before
 * one reads a piece, it has the disk fetch the next few pieces that do not continue another one.  So with one reader
 * these reads form one rising stream.  Direct pieces cannot be fetched, so all readers read them at a time.
 *
 * The owner owns the pieces.  It leaves a piece alone from putting it until reader_pool_wait() or
 * reader_pool_withdraw().
 *
 * Thread: the owner; readers call the functions in ReaderPoolWork.
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
	bool is_cached; /* it need not be fetched */
	bool is_direct; /* it is read past the page cache, and not fetched */

	/* The pool's, guarded by its mutex. */
	uint64_t number;
	PieceState state;
	bool is_fetched;
	unsigned n_fetching;
} Piece;

typedef struct {
	/* Read @piece, which embeds a Piece; @reader is the number of the reader, from 0. */
	void (*read)(Piece *piece, unsigned reader, void *data);
	/* Have the disk start reading @piece; may do nothing. */
	void (*fetch)(const Piece *piece, void *data);
	void *data;
	unsigned n_cached;  /* readers that may read through the page cache at a time; 0: all */
	Throttle *throttle; /* that the readers join, as long as they are there; NULL: none */
} ReaderPoolWork;

/* Start @n_readers threads, at least one.  NULL if none can be started. */
ReaderPool *reader_pool_new(unsigned n_readers, const ReaderPoolWork *work, GError **error);

/*
 * End the readers.  All pieces were waited for, or withdrawn.  Returns the bytes that they made disks read, as far
 * as this is known: see thread_io_read_bytes().
 */
uint64_t reader_pool_end(ReaderPool *pool);

/* Ends the readers, too.  Accepts NULL. */
void reader_pool_free(ReaderPool *pool);

/* Have @piece read.  Idle readers begin when 8 pieces or 256 KiB wait, or when the owner waits for a piece. */
void reader_pool_put(ReaderPool *pool, Piece *piece);

/*
 * Between the two calls readers begin no piece.  So pieces put meanwhile are read in order, and not beside what the
 * owner reads itself.  The owner must not wait for a piece meanwhile.
 */
void reader_pool_plug(ReaderPool *pool);
void reader_pool_unplug(ReaderPool *pool);

/* Wait until @piece was read. */
void reader_pool_wait(ReaderPool *pool, Piece *piece);

/* Wait until no reader uses @piece any more, read or not. */
void reader_pool_withdraw(ReaderPool *pool, Piece *piece);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReaderPool, reader_pool_free)
