/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/shown-files.h"

#include "cli/files/btrfs-paths.h"
#include "cli/files/extent-version.h"
#include "cli/files/file-pieces.h"
#include "common/mounts/filesystem-lock.h"
#include "common/mounts/mount-table.h"
#include "hashstore/database/store-transaction.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/call/file-key.h"

#include <string.h>

/* Limits of files added between two takes, and of files known at a time. */
#define FILES_MOST 65536
#define KNOWN_MOST (1U << 20)

/* The fingerprint of a file that does not exist, or has data that the store cannot identify. */
#define NO_FINGERPRINT UINT64_MAX

/* A file that was added once. */
typedef struct {
	FileKey key;
	uint32_t generation;
	bool is_deleted;
	bool has_fingerprint; /* it was looked up */
	uint64_t fingerprint;
} KnownFile;

struct ShownFiles {
	HashStore *store;
	FilesystemLook *look;
	Fd fd; /* of a mount point */
	FsIdentity identity;
	BtrfsPaths *paths;
	KnownWays ways; /* of these */
	ExtentRefs *refs;
	BtrfsFileExtents *items;
	GHashTable *known; /* KnownFile by its key */
	GHashTable *noted; /* some of these, by address */
	GHashTable *given; /* fingerprints, 64 bits of each */
	ProgressLine *progress;
};

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

ShownFiles *shown_files_open(HashStore *store, ProgressLine *progress, GError **error)
{
	g_autoptr(ShownFiles) shown = g_new0(ShownFiles, 1);
	const char *uuid = hash_store_about(store)->uuid;

	shown->store = store;
	shown->progress = progress;
	shown->fd = -1;
	shown->look = filesystem_look_new(uuid);
	shown->known = g_hash_table_new_full(file_key_hash, file_key_equal, NULL, g_free);
	shown->noted = g_hash_table_new(NULL, NULL);
	shown->given = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	if (!open_mount(shown, uuid, error))
		return NULL;
	if (!filesystem_look_begin(shown->look, error))
		return NULL;
	filesystem_look_end(shown->look);
	shown->refs = extent_refs_new(shown->fd, NULL);
	shown->items = btrfs_file_extents_new();
	shown->paths = btrfs_paths_new(shown->fd, uuid, error);

	if (!shown->paths)
		return NULL;
	shown->ways = (KnownWays){ shown->fd, &shown->identity, shown->paths };
	return g_steal_pointer(&shown);
}

void shown_files_close(ShownFiles *shown)
{
	if (!shown)
		return;

	btrfs_paths_free(shown->paths);
	extent_refs_free(shown->refs);
	btrfs_file_extents_free(shown->items);
	g_hash_table_unref(shown->noted);
	g_hash_table_unref(shown->known);
	g_hash_table_unref(shown->given);
	filesystem_look_free(shown->look);
	fd_close(&shown->fd);
	g_free(shown);
}

/* Examine one reference to the extent, and find its file; *ret is NULL if it does not reference the extent. */
static bool know_file(ShownFiles *shown, const BtrfsRef *found, const Object *extent,
		      KnownFile **ret, GError **error)
{
	const ExtentRef *places;
	uint64_t ignored;
	size_t n_before, n;

	*ret = NULL;
	extent_refs_list(shown->refs, &n_before);
	if (!extent_refs_add(shown->refs, found, extent, &ignored, error))
		return false;
	places = extent_refs_list(shown->refs, &n);
	if (n == n_before)
		return true;

	*ret = g_new0(KnownFile, 1);
	(*ret)->key = (FileKey){ found->root, found->inode };
	(*ret)->generation = places[n - 1].generation;
	(*ret)->is_deleted = places[n - 1].is_deleted;
	g_hash_table_insert(shown->known, &(*ret)->key, *ret);
	return true;
}

/* Whether the place still references the stored version of the extent. */
static bool is_shown(ShownFiles *shown, const BtrfsRef *found, const Object *extent, bool *ret,
		     GError **error)
{
	const ExtentRef place = { .root = found->root,
				  .inode = found->inode,
				  .offset = found->offset };

	return extent_version_is_shown(shown->items, shown->fd, &place, extent, ret, error);
}

/* Each file is examined once, however many references it has. */
static bool note_files(ShownFiles *shown, const Object *extent, bool *ret_is_there, GError **error)
{
	ExtentRefsOutcome outcome;
	const BtrfsRef *found;
	size_t n;

	if (!extent_refs_find(shown->refs, extent, &outcome, error))
		return false;
	found = extent_refs_found(shown->refs, &n);
	if (n > 0 && !is_shown(shown, &found[0], extent, ret_is_there, error))
		return false;

	for (size_t i = 0; i < n && *ret_is_there; i++) {
		const FileKey key = { found[i].root, found[i].inode };
		KnownFile *file = g_hash_table_lookup(shown->known, &key);

		if (!file && !know_file(shown, &found[i], extent, &file, error))
			return false;
		if (file && !file->is_deleted && g_hash_table_size(shown->noted) < FILES_MOST)
			g_hash_table_add(shown->noted, file);
	}
	return true;
}

bool shown_files_add(ShownFiles *shown, const Object *extent, bool *ret_is_there, GError **error)
{
	bool done;

	*ret_is_there = false;
	if (!filesystem_look_begin(shown->look, error))
		return false;

	done = note_files(shown, extent, ret_is_there, error);
	filesystem_look_end(shown->look);
	return done;
}

static void add_number(GChecksum *fingerprint, uint64_t number)
{
	g_checksum_update(fingerprint, (const uint8_t *)&number, sizeof(number));
}

/* Add a piece by its content, or by its address if the store does not know its extent. */
static bool add_piece(ShownFiles *shown, GChecksum *fingerprint, const FilePiece *piece,
		      GError **error)
{
	uint64_t start = piece->flags & PIECE_ENCODED ? 0 : piece->extent;
	const Object *known;
	bool holds;

	if (progress_line_is_due(shown->progress))
		progress_line_show(shown->progress, "%u files were looked at",
				   g_hash_table_size(shown->known));
	if (!hash_store_read_on(shown->store, error) ||
	    !hash_store_find_at(shown->store, OBJECT_EXTENTS, piece->extent, &known, error))
		return false;

	holds = known && known->state == OBJECT_DONE && known->size_bytes == piece->extent_bytes &&
		object_extent_generation(known) == piece->generation;
	add_number(fingerprint, piece->logical);
	add_number(fingerprint, piece->length);
	add_number(fingerprint, piece->position - start);
	add_number(fingerprint, piece->flags & PIECE_ENCODED);
	add_number(fingerprint, holds);
	add_number(fingerprint, holds ? known->digest : piece->extent);
	add_number(fingerprint, holds ? known->size_bytes : piece->generation);
	return true;
}

/* *ret is the same for files that are equal, or NO_FINGERPRINT. */
static bool fingerprint(ShownFiles *shown, const NamedFile *file, uint64_t *ret, GError **error)
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autoptr(FilePieces) pieces = file_pieces_open(file, false, error);
	uint8_t digest[32];
	gsize n_digest = sizeof(digest);
	const FilePiece *piece;

	*ret = NO_FINGERPRINT;
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

const KnownWays *shown_files_ways(const ShownFiles *shown)
{
	return &shown->ways;
}

/* The same for an added file; computed once. */
static bool know_fingerprint(ShownFiles *shown, KnownFile *known, GError **error)
{
	const FileId id = { known->key.root, known->key.inode, known->generation };
	g_autoptr(NamedFile) file = NULL;

	if (known->has_fingerprint)
		return true;

	file = shown_files_open_file(shown, &id);
	known->fingerprint = NO_FINGERPRINT;
	known->has_fingerprint = true;
	return !file || fingerprint(shown, file, &known->fingerprint, error);
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

/* If too many files are known, drop them; they are read from the filesystem again. */
static void forget_noted(ShownFiles *shown)
{
	g_hash_table_remove_all(shown->noted);
	if (g_hash_table_size(shown->known) >= KNOWN_MOST)
		g_hash_table_remove_all(shown->known);
}

bool shown_files_take_equal(ShownFiles *shown, GPtrArray **ret, GError **error)
{
	g_autoptr(GHashTable) by_fingerprint =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_ids);
	GHashTableIter iter;
	void *key, *value;

	g_hash_table_iter_init(&iter, shown->noted);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		KnownFile *known = key;
		const FileId id = { known->key.root, known->key.inode, known->generation };

		if (!know_fingerprint(shown, known, error))
			return false;
		if (known->fingerprint != NO_FINGERPRINT)
			sort_by_fingerprint(by_fingerprint, known->fingerprint, &id);
	}
	forget_noted(shown);

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
