/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/shown-files.h"

#include "cli/btrfs-paths.h"
#include "cli/extent-version.h"
#include "cli/file-pieces.h"
#include "daemon/filesystem-lock.h"
#include "daemon/mount-table.h"
#include "kernel-ioctl/fd.h"

#include <string.h>

/* So many places of one extent are looked at, and so many files noted at once. */
#define PLACES_MOST 1024
#define FILES_MOST  65536

struct ShownFiles {
	HashStore *store;
	Fd lock;
	Fd fd; /* of a mount point */
	FsIdentity identity;
	BtrfsPaths *paths;
	ExtentRefs *refs;
	BtrfsFileExtents *items;
	GHashTable *noted; /* FileId by itself */
	GHashTable *given; /* fingerprints, 64 bits of each */
};

static guint id_hash(const void *data)
{
	const FileId *id = data;
	uint64_t mixed = id->inode * UINT64_C(0x9e3779b97f4a7c15) ^ id->subvolume;

	return (guint)(mixed ^ mixed >> 32);
}

static gboolean id_equal(const void *a, const void *b)
{
	const FileId *one = a, *other = b;

	return one->inode == other->inode && one->subvolume == other->subvolume &&
	       one->generation == other->generation;
}

/* Open a mount point of the filesystem. */
static bool open_mount(ShownFiles *shown, const char *uuid, GError **error)
{
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, error);

	if (!mounts)
		return false;
	shown->fd = mount_table_open_uuid(mounts, uuid);
	if (shown->fd < 0) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "the filesystem %s is not mounted where it can be reached", uuid);
		return false;
	}

	return fs_identity_read(shown->fd, &shown->identity, error);
}

ShownFiles *shown_files_open(HashStore *store, GError **error)
{
	g_autoptr(ShownFiles) shown = g_new0(ShownFiles, 1);
	const char *uuid = hash_store_about(store)->uuid;

	shown->store = store;
	shown->lock = -1;
	shown->fd = -1;
	shown->noted = g_hash_table_new_full(id_hash, id_equal, g_free, NULL);
	shown->given = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	if (!open_mount(shown, uuid, error))
		return NULL;
	if (!filesystem_lock(uuid, &shown->lock, error))
		return NULL;
	shown->refs = extent_refs_new(shown->fd, NULL);
	shown->items = btrfs_file_extents_new();
	shown->paths = btrfs_paths_new(shown->fd, uuid, error);

	return shown->paths ? g_steal_pointer(&shown) : NULL;
}

void shown_files_close(ShownFiles *shown)
{
	if (!shown)
		return;

	btrfs_paths_free(shown->paths);
	extent_refs_free(shown->refs);
	btrfs_file_extents_free(shown->items);
	g_hash_table_unref(shown->noted);
	g_hash_table_unref(shown->given);
	fd_close(&shown->lock);
	fd_close(&shown->fd);
	g_free(shown);
}

bool shown_files_add(ShownFiles *shown, const Object *extent, bool *ret_is_there, GError **error)
{
	ExtentRefsOutcome outcome;
	const ExtentRef *places;
	size_t n;

	*ret_is_there = false;
	if (!extent_refs_read(shown->refs, extent, PLACES_MOST, &outcome, error))
		return false;
	places = extent_refs_list(shown->refs, &n);
	if (n > 0 && !extent_version_is_shown(shown->items, shown->fd, &places[0], extent,
					      ret_is_there, error))
		return false;

	for (size_t i = 0; i < n && *ret_is_there; i++) {
		const FileId id = { places[i].root, places[i].inode, places[i].generation };

		if (!places[i].is_deleted && g_hash_table_size(shown->noted) < FILES_MOST)
			g_hash_table_add(shown->noted, g_memdup2(&id, sizeof(id)));
	}
	return true;
}

static void add_number(GChecksum *fingerprint, uint64_t number)
{
	g_checksum_update(fingerprint, (const uint8_t *)&number, sizeof(number));
}

/* Add a piece by what it holds, or, of an extent that the store does not know, by where it lies. */
static bool add_piece(ShownFiles *shown, GChecksum *fingerprint, const FilePiece *piece,
		      GError **error)
{
	uint64_t start = piece->flags & PIECE_ENCODED ? 0 : piece->extent;
	const Object *known;
	bool holds;

	if (!hash_store_find_at(shown->store, OBJECT_EXTENTS, piece->extent, &known, error))
		return false;

	holds = known && known->state == OBJECT_DONE && known->size_bytes == piece->extent_bytes &&
		(uint64_t)known->ctime_nsec == piece->generation;
	add_number(fingerprint, piece->logical);
	add_number(fingerprint, piece->length);
	add_number(fingerprint, piece->position - start);
	add_number(fingerprint, piece->flags & PIECE_ENCODED);
	add_number(fingerprint, holds);
	add_number(fingerprint, holds ? known->digest : piece->extent);
	add_number(fingerprint, holds ? known->size_bytes : piece->generation);
	return true;
}

/* *ret is the same for files that are equal; UINT64_MAX: it has data that cannot be told so. */
static bool fingerprint(ShownFiles *shown, const NamedFile *file, uint64_t *ret, GError **error)
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autoptr(FilePieces) pieces = file_pieces_open(file, false, error);
	uint8_t digest[32];
	gsize n_digest = sizeof(digest);
	const FilePiece *piece;

	*ret = UINT64_MAX;
	if (!pieces)
		return false;
	add_number(checksum, file->stat.size_bytes);
	do {
		if (!file_pieces_next(pieces, &piece, error))
			return false;
		if (piece && !file_piece_is_placed(piece))
			return true;
		if (piece && !add_piece(shown, checksum, piece, error))
			return false;
	} while (piece);

	g_checksum_get_digest(checksum, digest, &n_digest);
	memcpy(ret, digest, sizeof(*ret));
	return true;
}

NamedFile *shown_files_open_file(ShownFiles *shown, const FileId *id)
{
	char *path = btrfs_paths_find(shown->paths, id->subvolume, id->inode);

	return path ? named_file_open_by_id_take(shown->fd, &shown->identity, id, path) : NULL;
}

static void sort_by_fingerprint(GHashTable *by_fingerprint, uint64_t fingerprint, const FileId *id)
{
	GArray *ids = g_hash_table_lookup(by_fingerprint, &fingerprint);

	if (!ids) {
		ids = g_array_new(false, false, sizeof(FileId));
		g_hash_table_insert(by_fingerprint, g_memdup2(&fingerprint, sizeof(fingerprint)),
				    ids);
	}
	g_array_append_vals(ids, id, 1);
}

static void free_ids(void *data)
{
	g_array_unref(data);
}

static int compare_ids(const void *a, const void *b)
{
	const FileId *one = a, *other = b;

	if (one->subvolume != other->subvolume)
		return one->subvolume < other->subvolume ? -1 : 1;
	return (one->inode > other->inode) - (one->inode < other->inode);
}

bool shown_files_take_equal(ShownFiles *shown, GPtrArray **ret, GError **error)
{
	g_autoptr(GHashTable) by_fingerprint =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_ids);
	GHashTableIter iter;
	void *key, *value;

	g_hash_table_iter_init(&iter, shown->noted);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		g_autoptr(NamedFile) file = shown_files_open_file(shown, key);
		uint64_t found = UINT64_MAX;

		if (file && !fingerprint(shown, file, &found, error))
			return false;
		if (found != UINT64_MAX)
			sort_by_fingerprint(by_fingerprint, found, key);
	}
	g_hash_table_remove_all(shown->noted);

	*ret = g_ptr_array_new_with_free_func(free_ids);
	g_hash_table_iter_init(&iter, by_fingerprint);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		GArray *ids = value;

		if (ids->len < 2 ||
		    !g_hash_table_add(shown->given, g_memdup2(key, sizeof(uint64_t))))
			continue;
		g_array_sort(ids, compare_ids);
		g_ptr_array_add(*ret, g_array_ref(ids));
	}
	return true;
}
