/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/extent-view.h"

#include "cli/files/btrfs-paths.h"
#include "cli/files/extent-version.h"
#include "cli/files/other-files.h"
#include "cli/files/span-measure.h"
#include "common/files/pin-cause.h"
#include "common/mounts/filesystem-lock.h"
#include "hashstore/objects/equals.h"
#include "hashstore/objects/pinned.h"
#include "kernel-ioctl/call/fd.h"

#include <fcntl.h>

/* Limits of references in other files, and of equal extents, that are examined per extent. */
#define PLACES_MOST 65536
#define EQUALS_MOST 64

/* From this number of equal extents on, their references are cached; and the limit of cached references. */
#define KEPT_LEAST  8
#define KEPT_PLACES 65536

/* A reference from another file to an extent. */
typedef struct {
	uint32_t id; /* of the extent */
	bool is_deleted;
	uint64_t root;
	uint64_t inode;
	uint64_t position;
	uint64_t end;
} Place;

/* Extents with one digest. */
typedef struct {
	uint64_t digest;
	uint64_t size_bytes;
	GArray *ids;    /* uint32_t: of those that are as they were */
	GArray *places; /* Place */
} EqualSet;

struct ExtentView {
	HashStore *store;
	Fd fd; /* of a file of the filesystem */
	Equals *equals;
	BtrfsPaths *paths;
	ExtentRefs *refs;
	BtrfsFileExtents *items;
	FilesystemLook *look;

	/* The current file: */
	const NamedFile *file;
	bool is_in_use; /* a pass works on the filesystem, so no more is asked */
	OtherFiles *others;
	GHashTable *equal; /* EqualSet by digest, for sets of many extents */
	guint n_places;    /* in all sets */
	bool any_known;
	bool any_skipped;
	bool any_stale;

	/* Bytes of the current extent that are referenced: */
	SpanMeasure *own;    /* by the file, as often as it references them */
	SpanMeasure *shared; /* by other files */
	SpanMeasure *twice;  /* by other files, or twice by this one */
	SpanMeasure *kept;   /* by other files that are not deleted, or of an equal extent */
};

static void equal_set_free(void *data)
{
	EqualSet *set = data;

	g_array_unref(set->ids);
	g_array_unref(set->places);
	g_free(set);
}

/* A pass is no error: nothing more is looked up from then on. */
static bool begin_look(ExtentView *view, bool *ret_may, GError **error)
{
	g_autoptr(GError) cause = NULL;

	*ret_may = !view->is_in_use && filesystem_look_begin(view->look, &cause);
	view->is_in_use |= !*ret_may;
	if (!cause || g_error_matches(cause, FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE))
		return true;

	g_propagate_error(error, g_steal_pointer(&cause));
	return false;
}

ExtentView *extent_view_open(int fd, HashStore *store, GError **error)
{
	g_autoptr(ExtentView) view = g_new0(ExtentView, 1);
	const char *uuid = hash_store_about(store)->uuid;

	view->store = store;
	view->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	view->look = filesystem_look_new(uuid);
	view->others = other_files_new();
	view->equal = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, equal_set_free);
	view->own = span_measure_new();
	view->shared = span_measure_new();
	view->twice = span_measure_new();
	view->kept = span_measure_new();
	view->refs = extent_refs_new(view->fd, NULL);
	view->items = btrfs_file_extents_new();
	view->equals = equals_open(store, error);
	view->paths = view->equals ? btrfs_paths_new(view->fd, uuid, error) : NULL;

	return view->paths ? g_steal_pointer(&view) : NULL;
}

void extent_view_close(ExtentView *view)
{
	if (!view)
		return;

	filesystem_look_free(view->look);
	other_files_free(view->others);
	g_hash_table_unref(view->equal);
	span_measure_free(view->own);
	span_measure_free(view->shared);
	span_measure_free(view->twice);
	span_measure_free(view->kept);
	extent_refs_free(view->refs);
	btrfs_file_extents_free(view->items);
	equals_close(view->equals);
	btrfs_paths_free(view->paths);
	fd_close(&view->fd);
	g_free(view);
}

static void forget_equal(ExtentView *view)
{
	g_hash_table_remove_all(view->equal);
	view->n_places = 0;
}

bool extent_view_begin(ExtentView *view, const NamedFile *file, GError **error)
{
	bool may;

	view->file = file;
	view->is_in_use = false;
	view->any_known = false;
	view->any_skipped = false;
	view->any_stale = false;
	other_files_clear(view->others);
	forget_equal(view);
	if (!begin_look(view, &may, error))
		return false;

	if (may)
		filesystem_look_end(view->look);
	return true;
}

bool extent_view_is_in_use(const ExtentView *view)
{
	return view->is_in_use;
}

BtrfsPaths *extent_view_paths(const ExtentView *view)
{
	return view->paths;
}

static bool is_own(const ExtentView *view, uint64_t root, uint64_t inode)
{
	return root == view->file->subvolume && inode == view->file->stat.inode;
}

static uint64_t position_in_extent(const FilePiece *piece)
{
	return piece->flags & PIECE_ENCODED ? piece->position : piece->position - piece->extent;
}

/* List references from other files to the extent, and one from this file. */
static bool list_places(ExtentView *view, const Object *extent, GError **error)
{
	ExtentRefsOutcome outcome;
	const BtrfsRef *found;
	size_t n, n_listed = 0;
	bool has_own = false;

	if (!extent_refs_find(view->refs, extent, &outcome, error))
		return false;
	found = extent_refs_found(view->refs, &n);
	for (size_t i = 0; i < n && n_listed < PLACES_MOST; i++) {
		bool is_ours = is_own(view, found[i].root, found[i].inode);
		uint64_t ignored;

		if (is_ours && has_own)
			continue;
		has_own |= is_ours;
		if (!extent_refs_add(view->refs, &found[i], extent, &ignored, error))
			return false;
		n_listed++;
	}

	return true;
}

/* Find the other references to the extent. */
static bool look_at_places(ExtentView *view, const Object *object, ReportedExtent *extent,
			   GError **error)
{
	const ExtentRef *places;
	ExtentRef unseen;
	size_t n;

	if (!list_places(view, object, error))
		return false;
	places = extent_refs_list(view->refs, &n);
	extent_refs_unseen(view->refs, &unseen, &extent->places);

	for (size_t i = 0; i < n; i++) {
		const ExtentRef *place = &places[i];
		uint64_t end = place->position + place->length;

		if (is_own(view, place->root, place->inode))
			continue;
		span_measure_add(view->shared, place->position, end, 1);
		span_measure_add(view->twice, place->position, end, 2);
		if (!place->is_deleted)
			span_measure_add(view->kept, place->position, end, 1);
		other_files_meet(view->others, place->root, place->inode, OTHER_SHARES,
				 place->position, end);
	}
	return true;
}

/* Add an extent, and its listed references. */
static void add_to_set(ExtentView *view, EqualSet *set, uint32_t id)
{
	size_t n;
	const ExtentRef *places = extent_refs_list(view->refs, &n);

	g_array_append_val(set->ids, id);
	for (size_t i = 0; i < n; i++) {
		const Place place = { id,
				      places[i].is_deleted,
				      places[i].root,
				      places[i].inode,
				      places[i].position,
				      places[i].position + places[i].length };

		if (!is_own(view, place.root, place.inode))
			g_array_append_val(set->places, place);
	}
}

/* Add one extent that had the same checksums, if it still has them. */
static bool add_equal(ExtentView *view, EqualSet *set, uint32_t id, GError **error)
{
	const ExtentRef *places;
	bool found, holds = false;
	Object known;
	size_t n;

	if (!hash_store_peek(view->store, id, &known, &found, error))
		return false;
	if (!found || known.subvolume != OBJECT_EXTENTS)
		return true;
	if (!list_places(view, &known, error))
		return false;

	places = extent_refs_list(view->refs, &n);
	if (n > 0 &&
	    !extent_version_is_shown(view->items, view->fd, &places[0], &known, &holds, error))
		return false;
	if (holds)
		add_to_set(view, set, id);
	return true;
}

/* Fill @set with the extent, whose references were just listed, and with its equals. */
static bool fill_set(ExtentView *view, EqualSet *set, const Object *known, GError **error)
{
	const GArray *found;
	bool has_more;

	set->digest = known->digest;
	set->size_bytes = known->size_bytes;
	set->ids = g_array_new(false, false, sizeof(uint32_t));
	set->places = g_array_new(false, false, sizeof(Place));
	add_to_set(view, set, known->id);
	if (!equals_find(view->equals, known, EQUALS_MOST, &found, &has_more, error))
		return false;
	for (guint i = 0; i < found->len; i++)
		if (!add_equal(view, set, g_array_index(found, uint32_t, i), error))
			return false;

	return true;
}

/* Measure what the others of @set have of the extent. */
static void take_set(ExtentView *view, const EqualSet *set, uint32_t id, ReportedExtent *extent)
{
	extent->equals = set->ids->len;
	for (guint i = 0; i < set->ids->len; i++)
		extent->equals -= g_array_index(set->ids, uint32_t, i) == id;
	extent->equals = MIN(extent->equals, EQUALS_MOST);

	for (guint i = 0; i < set->places->len; i++) {
		const Place *place = &g_array_index(set->places, Place, i);

		if (place->id == id)
			continue;
		other_files_meet(view->others, place->root, place->inode, OTHER_EQUALS,
				 place->position, place->end);
		if (!place->is_deleted)
			span_measure_add(view->kept, place->position, place->end, 1);
	}
}

static void keep_set_take(ExtentView *view, EqualSet *set)
{
	if (set->ids->len <= KEPT_LEAST || set->places->len > KEPT_PLACES) {
		equal_set_free(set);
		return;
	}

	if (view->n_places + set->places->len > KEPT_PLACES)
		forget_equal(view);
	view->n_places += set->places->len;
	g_hash_table_replace(view->equal, &set->digest, set);
}

/* If many extents have one digest, their equals are found once for all of them. */
static bool look_for_equals(ExtentView *view, const Object *known, ReportedExtent *extent,
			    GError **error)
{
	EqualSet *set = g_hash_table_lookup(view->equal, &known->digest);

	if (set && set->size_bytes == known->size_bytes) {
		take_set(view, set, known->id, extent);
		return true;
	}

	set = g_new0(EqualSet, 1);
	if (!fill_set(view, set, known, error)) {
		equal_set_free(set);
		return false;
	}
	take_set(view, set, known->id, extent);
	keep_set_take(view, set);
	return true;
}

/* Find what pins the extent, by the results of the last passes. */
static bool look_at_pin(ExtentView *view, const FilePiece *piece, FileReport *report,
			ReportedExtent *extent, GError **error)
{
	g_autofree char *path = NULL;
	PinnedExtent pinned;
	bool found;

	if (!hash_store_find_pinned(view->store, piece->extent, &pinned, &found, error))
		return false;
	if (!found || pinned.extent.generation != piece->generation)
		return true;

	extent->is_source = pinned.is_source;
	if (extent->is_source)
		return true;

	extent->pinned = pin_cause_name((PinCause)pinned.cause);
	extent->pin_cause = pinned.cause;
	extent->pin_places = pinned.places;
	extent->uncovered_bytes = pinned.uncovered_bytes;
	if (pinned.root > 0 && pinned.inode > 0)
		path = btrfs_paths_find(view->paths, pinned.root, pinned.inode);
	extent->is_pinned_by_own = path && is_own(view, pinned.root, pinned.inode);
	extent->pinned_by = path ? g_string_chunk_insert_const(report->names, path) : NULL;
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

/* Look up the extent in the store. */
static bool look_into_store(ExtentView *view, const FilePiece *piece, FileReport *report,
			    ReportedExtent *extent, Object *ret, GError **error)
{
	const Object *found;

	if (!hash_store_read_on(view->store, error) ||
	    !hash_store_find_at(view->store, OBJECT_EXTENTS, piece->extent, &found, error))
		return false;

	if (!found)
		extent->state = FILE_UNKNOWN;
	else if (found->size_bytes != piece->extent_bytes ||
		 object_extent_generation(found) != piece->generation)
		extent->state = FILE_STALE;
	else
		extent->state = found->state == OBJECT_DONE ? FILE_KNOWN : FILE_SKIPPED;
	extent->skip_reason = found ? found->skip_reason : 0;
	extent->is_unsettled =
		extent->state == FILE_KNOWN && found->id >= hash_store_settled_below(view->store);
	view->any_known |= extent->state == FILE_KNOWN;
	view->any_skipped |= extent->state == FILE_SKIPPED;
	view->any_stale |= extent->state == FILE_STALE;

	*ret = found ? *found : (Object){ 0 };
	return look_at_pin(view, piece, report, extent, error) &&
	       look_at_differences(view, piece, extent, error);
}

/* Find the references and equals of the extent.  This is left out while a pass works on the filesystem. */
static bool look_into_filesystem(ExtentView *view, const FilePiece *piece, const Object *known,
				 ReportedExtent *extent, GError **error)
{
	const Object object = { .inode = piece->extent, .size_bytes = piece->extent_bytes };
	bool may, done;

	if (!begin_look(view, &may, error))
		return false;
	if (!may)
		return true;

	done = look_at_places(view, &object, extent, error) &&
	       (extent->state != FILE_KNOWN || look_for_equals(view, known, extent, error));
	filesystem_look_end(view->look);
	return done;
}

static void begin_extent(ExtentView *view, const FilePiece *pieces, size_t n)
{
	span_measure_clear(view->own);
	span_measure_clear(view->shared);
	span_measure_clear(view->twice);
	span_measure_clear(view->kept);
	for (size_t i = 0; i < n; i++) {
		uint64_t begin = position_in_extent(&pieces[i]);

		span_measure_add(view->own, begin, begin + pieces[i].length, 1);
		span_measure_add(view->twice, begin, begin + pieces[i].length, 1);
	}
	span_measure_finish(view->own, 0);
}

bool extent_view_look(ExtentView *view, const FilePiece *pieces, size_t n, FileReport *report,
		      ReportedExtent *ret, GError **error)
{
	ReportedExtent extent = {
		.places = FILE_REPORT_NOT_ASKED,
		.extent_bytes = pieces[0].extent_bytes,
	};
	Object known;

	begin_extent(view, pieces, n);
	if (!look_into_store(view, &pieces[0], report, &extent, &known, error) ||
	    !look_into_filesystem(view, &pieces[0], &known, &extent, error))
		return false;

	other_files_count(view->others, view->own);
	span_measure_finish(view->shared, 1);
	span_measure_finish(view->twice, 2);
	span_measure_finish(view->kept, 1);
	if (extent.pin_cause == PIN_SNAPSHOTS)
		report->deferred_bytes += pieces[0].extent_bytes;
	else if (extent.pinned)
		report->pinned_bytes += pieces[0].extent_bytes;
	else if (extent.equals > 0 && !extent.is_source)
		report->would_free_bytes += pieces[0].extent_bytes;
	for (size_t i = 0; i < n; i++) {
		uint64_t begin = position_in_extent(&pieces[i]);
		uint64_t end = begin + pieces[i].length;

		ret[i] = extent;
		ret[i].is_first = i == 0;
		ret[i].elsewhere_bytes = span_measure_bytes(view->kept, begin, end);
		ret[i].shared_bytes = span_measure_bytes(view->twice, begin, end);
		ret[i].others_bytes = span_measure_bytes(view->shared, begin, end);
		report->shared_bytes += ret[i].others_bytes;
		if (extent.equals > 0)
			report->equal_bytes += pieces[i].length;
	}
	return true;
}

void extent_view_finish(ExtentView *view, FileReport *report)
{
	if (report->state == FILE_UNKNOWN && view->any_known)
		report->state = FILE_KNOWN;
	else if (report->state == FILE_UNKNOWN && view->any_skipped)
		report->state = FILE_SKIPPED;
	else if (report->state == FILE_UNKNOWN && view->any_stale)
		report->state = FILE_STALE;

	other_files_report(view->others, view->paths, report);
}
