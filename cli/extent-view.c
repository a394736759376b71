/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/extent-view.h"

#include "cli/btrfs-paths.h"
#include "cli/extent-version.h"
#include "daemon/filesystem-lock.h"
#include "daemon/pin-cause.h"
#include "hashstore/equals.h"
#include "hashstore/pinned.h"
#include "kernel-ioctl/fd.h"

#include <stdlib.h>

/* So many places of one extent, and extents equal to it, are looked at. */
#define PLACES_MOST 1024
#define EQUALS_MOST 64

/* So many other files are kept in mind. */
#define OTHERS_MOST 65536

/* A file that has to do with the one in question. */
typedef struct {
	uint64_t root;
	uint64_t inode;
	OtherRelation relation;
	uint64_t bytes;
} Other;

struct ExtentView {
	const NamedFile *file;
	HashStore *store;
	Equals *equals;
	BtrfsPaths *paths;
	ExtentRefs *refs;
	BtrfsFileExtents *items;
	bool is_in_use; /* another process holds the lock */
	Fd lock;
	GHashTable *others; /* Other by itself */
	GHashTable
		*counted; /* addresses of extents that sharing would free; or were found pinned */
	bool any_known;
	bool any_stale;
	uint64_t n_left_out;
};

static guint other_hash(const void *data)
{
	const Other *other = data;
	uint64_t mixed =
		(other->inode * UINT64_C(0x9e3779b97f4a7c15) ^ other->root) + other->relation;

	return (guint)(mixed ^ mixed >> 32);
}

static gboolean other_equal(const void *a, const void *b)
{
	const Other *one = a, *other = b;

	return one->inode == other->inode && one->root == other->root &&
	       one->relation == other->relation;
}

/* A pass that holds the lock is no error. */
static bool take_lock(ExtentView *view, const char *uuid, GError **error)
{
	g_autoptr(GError) cause = NULL;

	if (filesystem_lock(uuid, &view->lock, &cause))
		return true;

	view->is_in_use =
		g_error_matches(cause, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE);
	if (!view->is_in_use)
		g_propagate_error(error, g_steal_pointer(&cause));
	return view->is_in_use;
}

ExtentView *extent_view_open(const NamedFile *file, HashStore *store, GError **error)
{
	g_autoptr(ExtentView) view = g_new0(ExtentView, 1);
	const char *uuid = hash_store_about(store)->uuid;

	view->file = file;
	view->store = store;
	view->lock = -1;
	view->others = g_hash_table_new_full(other_hash, other_equal, g_free, NULL);
	view->counted = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	view->refs = extent_refs_new(file->fd, NULL);
	view->items = btrfs_file_extents_new();
	view->equals = equals_open(store, error);
	view->paths = view->equals ? btrfs_paths_new(file->fd, uuid, error) : NULL;
	if (!view->paths || !take_lock(view, uuid, error))
		return NULL;

	return g_steal_pointer(&view);
}

void extent_view_close(ExtentView *view)
{
	if (!view)
		return;

	fd_close(&view->lock);
	g_hash_table_unref(view->others);
	g_hash_table_unref(view->counted);
	extent_refs_free(view->refs);
	btrfs_file_extents_free(view->items);
	equals_close(view->equals);
	btrfs_paths_free(view->paths);
	g_free(view);
}

bool extent_view_is_in_use(const ExtentView *view)
{
	return view->is_in_use;
}

static bool is_own(const ExtentView *view, const ExtentRef *place)
{
	return place->root == view->file->subvolume && place->inode == view->file->stat.inode;
}

static void note_other(ExtentView *view, const ExtentRef *place, OtherRelation relation,
		       uint64_t bytes)
{
	const Other key = { place->root, place->inode, relation, 0 };
	Other *other = g_hash_table_lookup(view->others, &key);

	if (is_own(view, place))
		return;
	if (!other && g_hash_table_size(view->others) >= OTHERS_MOST) {
		view->n_left_out++;
		return;
	}
	if (!other) {
		other = g_memdup2(&key, sizeof(key));
		g_hash_table_add(view->others, other);
	}
	other->bytes += bytes;
}

/* Bytes of the extent, from @position on, that the place shows, too. */
static uint64_t overlap(const ExtentRef *place, uint64_t position, uint64_t length)
{
	uint64_t begin = MAX(place->position, position);
	uint64_t end = MIN(place->position + place->length, position + length);

	return begin < end ? end - begin : 0;
}

static uint64_t position_in_extent(const FilePiece *piece)
{
	return piece->flags & PIECE_ENCODED ? piece->position : piece->position - piece->extent;
}

/* Who else shows the extent. */
static bool look_at_places(ExtentView *view, const FilePiece *piece, FileReport *report,
			   ReportedExtent *extent, GError **error)
{
	const Object object = { .inode = piece->extent, .size_bytes = piece->extent_bytes };
	uint64_t most_shared = 0, most_kept = 0;
	ExtentRefsOutcome outcome;
	const ExtentRef *places;
	ExtentRef unseen;
	size_t n;

	if (!extent_refs_read(view->refs, &object, PLACES_MOST, &outcome, error))
		return false;
	places = extent_refs_list(view->refs, &n);
	extent_refs_unseen(view->refs, &unseen, &extent->places);

	for (size_t i = 0; i < n; i++) {
		const ExtentRef *place = &places[i];
		uint64_t bytes = overlap(place, position_in_extent(piece), piece->length);

		if (bytes == 0 || is_own(view, place))
			continue;
		most_shared = MAX(most_shared, bytes);
		most_kept = MAX(most_kept, place->is_deleted ? 0 : bytes);
		note_other(view, place, OTHER_SHARES, bytes);
	}
	report->shared_bytes += most_shared;
	extent->elsewhere_bytes = most_kept;
	return true;
}

/* One extent that had the same checksums: whether it has them still, and which files show it. */
static bool look_at_equal(ExtentView *view, uint32_t id, const FilePiece *piece,
			  ReportedExtent *extent, GError **error)
{
	ExtentRefsOutcome outcome;
	const ExtentRef *places;
	bool found, holds = false;
	Object known;
	size_t n;

	if (!hash_store_peek(view->store, id, &known, &found, error))
		return false;
	if (!found || known.subvolume != OBJECT_EXTENTS)
		return true;
	if (!extent_refs_read(view->refs, &known, PLACES_MOST, &outcome, error))
		return false;

	places = extent_refs_list(view->refs, &n);
	if (n > 0 && !extent_version_is_shown(view->items, view->file->fd, &places[0], &known,
					      &holds, error))
		return false;
	extent->equals += holds;
	for (size_t i = 0; i < n && holds; i++) {
		uint64_t bytes = overlap(&places[i], position_in_extent(piece), piece->length);

		note_other(view, &places[i], OTHER_EQUALS, bytes);
		if (!is_own(view, &places[i]) && !places[i].is_deleted)
			extent->elsewhere_bytes = MAX(extent->elsewhere_bytes, bytes);
	}
	return true;
}

static bool look_for_equals(ExtentView *view, const Object *known, const FilePiece *piece,
			    FileReport *report, ReportedExtent *extent, GError **error)
{
	g_autoptr(GArray) ids = NULL;
	const GArray *found;
	bool has_more;

	if (!equals_find(view->equals, known, EQUALS_MOST, &found, &has_more, error))
		return false;
	ids = g_array_copy((GArray *)found);
	for (guint i = 0; i < ids->len; i++)
		if (!look_at_equal(view, g_array_index(ids, uint32_t, i), piece, extent, error))
			return false;

	if (extent->equals > 0)
		report->equal_bytes += piece->length;
	return true;
}

/* What keeps the extent from being freed, by what the last passes found. */
static bool look_at_pin(ExtentView *view, const FilePiece *piece, ReportedExtent *extent,
			GError **error)
{
	PinnedExtent pinned;
	bool found;

	if (!hash_store_next_pinned(view->store, piece->extent, &pinned, &found, error))
		return false;
	if (!found || pinned.extent.address != piece->extent ||
	    pinned.extent.generation != piece->generation)
		return true;

	extent->pinned = pin_cause_name((PinCause)pinned.cause);
	if (pinned.root > 0 && pinned.inode > 0)
		extent->pinned_by = btrfs_paths_find(view->paths, pinned.root, pinned.inode);
	return true;
}

static bool look_at_differences(ExtentView *view, const FilePiece *piece, ReportedExtent *extent,
				GError **error)
{
	const ExtentStamp stamp = { piece->extent, piece->generation };
	uint64_t n;

	if (!hash_store_count_differed(view->store, &stamp, 1, &n, error))
		return false;
	extent->has_differed = n > 0;
	return true;
}

/* Count the extent as a whole, once, however many pieces of it the file shows. */
static void count_extent(ExtentView *view, const FilePiece *piece, const ReportedExtent *extent,
			 FileReport *report)
{
	int64_t address = (int64_t)piece->extent;

	if ((extent->equals == 0 && !extent->pinned) ||
	    !g_hash_table_add(view->counted, g_memdup2(&address, sizeof(address))))
		return;
	if (extent->pinned)
		report->pinned_bytes += piece->extent_bytes;
	else
		report->would_free_bytes += piece->extent_bytes;
}

bool extent_view_look(ExtentView *view, const FilePiece *piece, FileReport *report,
		      ReportedExtent *extent, GError **error)
{
	const Object *found;

	if (!hash_store_find_at(view->store, OBJECT_EXTENTS, piece->extent, &found, error))
		return false;

	if (!found)
		extent->state = FILE_UNKNOWN;
	else if (found->size_bytes != piece->extent_bytes ||
		 (uint64_t)found->ctime_nsec != piece->generation)
		extent->state = FILE_STALE;
	else
		extent->state = found->state == OBJECT_DONE ? FILE_KNOWN : FILE_SKIPPED;
	extent->skip_reason = found ? found->skip_reason : 0;
	extent->is_unsettled =
		extent->state == FILE_KNOWN && found->id >= hash_store_settled_below(view->store);
	view->any_known |= extent->state == FILE_KNOWN || extent->state == FILE_SKIPPED;
	view->any_stale |= extent->state == FILE_STALE;

	Object known = found ? *found : (Object){ 0 };
	if (!look_at_pin(view, piece, extent, error) ||
	    !look_at_differences(view, piece, extent, error))
		return false;
	if (!view->is_in_use) {
		if (!look_at_places(view, piece, report, extent, error))
			return false;
		if (extent->state == FILE_KNOWN &&
		    !look_for_equals(view, &known, piece, report, extent, error))
			return false;
	}
	count_extent(view, piece, extent, report);
	return true;
}

/* By relation, then by bytes, largest first. */
static int compare_others(const void *a, const void *b)
{
	const Other *one = *(const Other *const *)a, *other = *(const Other *const *)b;

	if (one->relation != other->relation)
		return one->relation < other->relation ? -1 : 1;
	if (one->bytes != other->bytes)
		return one->bytes > other->bytes ? -1 : 1;
	return (one->inode > other->inode) - (one->inode < other->inode);
}

void extent_view_finish(ExtentView *view, FileReport *report)
{
	guint n;
	g_autofree void **others = g_hash_table_get_keys_as_array(view->others, &n);

	if (report->state == FILE_UNKNOWN && view->any_known)
		report->state = FILE_KNOWN;
	else if (report->state == FILE_UNKNOWN && view->any_stale)
		report->state = FILE_STALE;

	qsort(others, n, sizeof(*others), compare_others);
	for (guint i = 0; i < n; i++) {
		const Other *other = others[i];
		bool is_listed = report->others->len < FILE_REPORT_OTHERS;

		file_report_add_other_take(
			report, other->relation,
			is_listed ? btrfs_paths_find(view->paths, other->root, other->inode) : NULL,
			other->bytes);
	}
	report->n_others += view->n_left_out;
}
