/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"

/*
 * FilePieces - iterates over the data of a file and its addresses, in the order of the file.
 *
 * The source is the trees of btrfs if this process may read them, else FIEMAP.  FIEMAP does not say which part
 * of a compressed extent a file references, so it is taken for the first.  Holes and unwritten space are no
 * data.  Pieces end at block boundaries, even if the file ends within a block.
 *
 * Thread: main.
 */
typedef struct FilePieces FilePieces;

typedef enum {
	PIECE_INLINE = 1 << 0,   /* inside metadata, without an address */
	PIECE_ENCODED = 1 << 1,  /* compressed */
	PIECE_SHARED = 1 << 2,   /* it has other references; from FIEMAP only */
	PIECE_UNPLACED = 1 << 3, /* written meanwhile, or the kernel gives no address */
} PieceFlags;

typedef struct {
	uint64_t logical; /* byte in the file */
	uint64_t length;
	/*
	 * The extent, and the position in its uncompressed data, if the piece is encoded; otherwise
	 * 0, and the address.
	 */
	uint64_t space;
	uint64_t position;
	/* From btrfs's trees: the extent; else 0. */
	uint64_t extent;
	uint64_t extent_bytes; /* its size on the disk */
	uint64_t generation;   /* the transaction that allocated it */
	unsigned flags;        /* PieceFlags */
} FilePiece;

/*
 * Write out dirty data, then begin with the first piece.  @file is borrowed.  @from_map forces FIEMAP, which
 * alone reports other references.
 */
FilePieces *file_pieces_open(const NamedFile *file, bool from_map, GError **error);

/* The next piece; NULL at the end.  Valid until the next call. */
bool file_pieces_next(FilePieces *pieces, const FilePiece **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void file_pieces_close(FilePieces *pieces);

/* Whether it has an address, so that it can be shared. */
bool file_piece_is_placed(const FilePiece *piece);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilePieces, file_pieces_close)
