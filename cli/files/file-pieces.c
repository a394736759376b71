/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/file-pieces.h"

#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/file/extent-map.h"

#include <errno.h>
#include <unistd.h>

struct FilePieces {
	const NamedFile *file;
	uint64_t end;              /* of the file, in whole blocks */
	BtrfsFileExtents *extents; /* or NULL */
	ExtentMap *map;            /* or NULL */
	FilePiece piece;
};

FilePieces *file_pieces_open(const NamedFile *file, bool from_map, GError **error)
{
	g_autoptr(FilePieces) pieces = g_new0(FilePieces, 1);
	uint64_t block = file->identity.block_bytes;

	pieces->file = file;
	pieces->end = (file->stat.size_bytes + block - 1) / block * block;
	if (!from_map && file->identity.kind == FS_KIND_BTRFS && geteuid() == 0) {
		/* Trees do not show what waits in memory. */
		if (fdatasync(file->fd) != 0) {
			g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
				    "cannot write out %s: %s", file->text, g_strerror(errno));
			return NULL;
		}
		pieces->extents = btrfs_file_extents_new();
		btrfs_file_extents_start(pieces->extents, file->fd, 0, file->stat.inode, 0,
					 pieces->end);
	} else {
		pieces->map = extent_map_new();
		extent_map_start(pieces->map, file->fd, 0, pieces->end, true);
	}

	return g_steal_pointer(&pieces);
}

void file_pieces_close(FilePieces *pieces)
{
	if (!pieces)
		return;

	btrfs_file_extents_free(pieces->extents);
	extent_map_free(pieces->map);
	g_free(pieces);
}

/* Cut at the end of the file; false if nothing is left. */
static bool cut(FilePieces *pieces)
{
	FilePiece *piece = &pieces->piece;

	if (piece->logical >= pieces->end)
		return false;
	piece->length = MIN(piece->length, pieces->end - piece->logical);
	return piece->length > 0;
}

/* False: it is no data. */
static bool take_item(FilePieces *pieces, const BtrfsFileExtent *item)
{
	FilePiece *piece = &pieces->piece;

	*piece = (FilePiece){ .logical = item->logical, .length = item->length };
	if (item->kind == BTRFS_FILE_EXTENT_IS_INLINE) {
		piece->flags = PIECE_INLINE;
		piece->length = pieces->file->stat.size_bytes;
		return cut(pieces);
	}
	if (item->kind != BTRFS_FILE_EXTENT_IS_REGULAR || item->bytenr == 0)
		return false;

	piece->extent = item->bytenr;
	piece->extent_bytes = item->disk_bytes;
	piece->generation = item->generation;
	piece->position = item->offset;
	if (item->is_encoded) {
		piece->flags = PIECE_ENCODED;
		piece->space = item->bytenr;
	} else {
		piece->position += item->bytenr;
	}
	return cut(pieces);
}

static bool take_mapped(FilePieces *pieces, const MappedExtent *mapped)
{
	FilePiece *piece = &pieces->piece;

	if (mapped->flags & EXTENT_UNWRITTEN)
		return false;

	*piece = (FilePiece){ .logical = mapped->logical, .length = mapped->length };
	if (mapped->flags & EXTENT_SHARED)
		piece->flags |= PIECE_SHARED;
	if (mapped->flags & EXTENT_INLINE) {
		piece->flags |= PIECE_INLINE;
		piece->length = pieces->file->stat.size_bytes;
	} else if (mapped->flags & (EXTENT_DELALLOC | EXTENT_UNKNOWN)) {
		piece->flags |= PIECE_UNPLACED;
	} else if (mapped->flags & EXTENT_ENCODED) {
		piece->flags |= PIECE_ENCODED;
		piece->space = mapped->physical;
	} else {
		piece->position = mapped->physical;
	}
	return cut(pieces);
}

bool file_pieces_next(FilePieces *pieces, const FilePiece **ret, GError **error)
{
	bool is_data = false;

	*ret = NULL;
	while (!is_data) {
		const BtrfsFileExtent *item = NULL;
		const MappedExtent *mapped = NULL;

		if (pieces->extents ? !btrfs_file_extents_next(pieces->extents, &item, error)
				    : !extent_map_next(pieces->map, &mapped, error))
			return false;
		if (!item && !mapped)
			return true;
		is_data = item ? take_item(pieces, item) : take_mapped(pieces, mapped);
	}

	*ret = &pieces->piece;
	return true;
}

bool file_piece_is_placed(const FilePiece *piece)
{
	return !(piece->flags & (PIECE_INLINE | PIECE_UNPLACED));
}
