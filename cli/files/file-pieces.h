/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"

/*
 * FilePieces - where the data of a file lies, piece by piece in the order of the file.
 *
 * From the trees of btrfs where this process may read them, else from FIEMAP.  The latter does not
 * say which part of a compressed extent a file shows: it is taken for the first.  Holes, and space
 * that is only reserved, are no data.  Ends are those of blocks, also where the file ends within one.
 *
 * Thread: main.
 */
typedef struct FilePieces FilePieces;

typedef enum {
	PIECE_INLINE = 1 << 0,   /* inside metadata: it has no address */
	PIECE_ENCODED = 1 << 1,  /* compressed */
	PIECE_SHARED = 1 << 2,   /* others use it, too; from FIEMAP only */
	PIECE_UNPLACED = 1 << 3, /* written meanwhile, or the kernel does not say where */
} PieceFlags;

typedef struct {
	uint64_t logical; /* byte in the file */
	uint64_t length;
	/* Of an encoded piece the extent and the byte in what it holds; else 0 and the address. */
	uint64_t space;
	uint64_t position;
	/* Of btrfs's trees: the extent; else 0. */
	uint64_t extent;
	uint64_t extent_bytes; /* that it takes on the disk */
	uint64_t generation;   /* of the transaction that allocated it */
	unsigned flags;        /* PieceFlags */
} FilePiece;

/*
 * Begins with the first piece, after writing out what is dirty; @file is borrowed.  @from_map has FIEMAP
 * asked in any case, which alone says what others use, too.
 */
FilePieces *file_pieces_open(const NamedFile *file, bool from_map, GError **error);

/* The next piece; NULL at the end.  Valid until the next call. */
bool file_pieces_next(FilePieces *pieces, const FilePiece **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void file_pieces_close(FilePieces *pieces);

/* Whether it can be shared: it has an address. */
bool file_piece_is_placed(const FilePiece *piece);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilePieces, file_pieces_close)
