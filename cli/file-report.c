/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/file-report.h"

#include "cli/extent-view.h"
#include "cli/file-pieces.h"
#include "cli/known-object.h"
#include "cli/lone-ranges.h"
#include "cli/shared-bytes.h"
#include "hashstore/equals.h"

#include <unistd.h>

static const char *const state_names[] = {
	[FILE_NO_STORE] = "no store", [FILE_UNKNOWN] = "unknown", [FILE_STALE] = "stale",
	[FILE_SKIPPED] = "skipped",   [FILE_SEEN] = "seen",       [FILE_KNOWN] = "known",
};

static const char *const relation_names[] = {
	[OTHER_SHARES] = "shared",
	[OTHER_EQUALS] = "equal",
	[OTHER_STALE] = "stale",
};

const char *file_state_name(FileState state)
{
	return state_names[state];
}

const char *other_relation_name(OtherRelation relation)
{
	return relation_names[relation];
}

static void extent_clear(void *data)
{
	ReportedExtent *extent = data;

	g_free(extent->pinned_by);
}

static void other_clear(void *data)
{
	ReportedFile *other = data;

	g_free(other->path);
}

void file_report_free(FileReport *report)
{
	if (!report)
		return;

	g_array_unref(report->extents);
	g_array_unref(report->others);
	g_free(report);
}

void file_report_add_other_take(FileReport *report, OtherRelation relation, char *path,
				uint64_t bytes)
{
	ReportedFile other = { relation, path, bytes };

	report->n_others++;
	if (report->others->len < FILE_REPORT_OTHERS)
		g_array_append_val(report->others, other);
	else
		g_free(path);
}

static void add_extent(FileReport *report, const FilePiece *piece, ReportedExtent *extent)
{
	extent->logical = piece->logical;
	extent->physical = piece->flags & PIECE_ENCODED ? piece->space : piece->position;
	extent->length = piece->length;
	extent->flags = piece->flags;
	report->n_extents++;
	report->data_bytes += piece->length;
	report->elsewhere_bytes += extent->elsewhere_bytes;
	if (report->extents->len < FILE_REPORT_EXTENTS)
		g_array_append_val(report->extents, *extent);
	else
		extent_clear(extent);
}

/* Go over the pieces; @view, which may be NULL, says more of btrfs's extents. */
static bool look_at_pieces(FileReport *report, const NamedFile *file, ExtentView *view,
			   GError **error)
{
	bool from_map = !view || extent_view_is_in_use(view);
	g_autoptr(FilePieces) pieces = file_pieces_open(file, from_map, error);
	g_autoptr(LoneRanges) shared = lone_ranges_new();
	uint64_t shared_bytes;
	const FilePiece *piece;

	if (!pieces)
		return false;
	while (true) {
		ReportedExtent extent = { .state = report->state, .places = FILE_REPORT_NOT_ASKED };

		if (!file_pieces_next(pieces, &piece, error))
			return false;
		if (!piece)
			break;
		if (piece->flags & PIECE_SHARED && !lone_ranges_add(shared, piece, error))
			return false;
		if (view && piece->extent > 0 &&
		    !extent_view_look(view, piece, report, &extent, error)) {
			extent_clear(&extent);
			return false;
		}
		if (piece->flags & PIECE_SHARED)
			report->shared_bytes += piece->length;
		add_extent(report, piece, &extent);
	}

	if (!lone_ranges_count(shared, &shared_bytes, error))
		return false;
	report->elsewhere_bytes += shared_bytes;
	return true;
}

static FileState state_of(const Object *known, const NamedFile *file)
{
	if (!known)
		return FILE_UNKNOWN;
	if (!known_object_is(known, file) || known->state == OBJECT_HALF)
		return FILE_STALE;
	if (known->state == OBJECT_SKIPPED)
		return FILE_SKIPPED;
	return known->state == OBJECT_SEEN ? FILE_SEEN : FILE_KNOWN;
}

/* One that had the same digest. */
static bool look_at_equal(FileReport *report, const NamedFile *file, HashStore *store, uint32_t id,
			  GError **error)
{
	g_autofree char *path = NULL;
	g_autoptr(NamedFile) other = NULL;
	SharedBytes count;
	bool is_known;

	if (!known_object_open(store, id, &other, &path, &is_known, error))
		return false;
	if (!is_known)
		return true;
	if (!other) {
		file_report_add_other_take(report, OTHER_STALE, g_steal_pointer(&path), 0);
		return true;
	}
	if (!shared_bytes_count(file, other, &count, error))
		return false;

	bool is_shared = count.shared_bytes[0] == report->data_bytes;
	report->elsewhere_bytes = report->data_bytes;
	file_report_add_other_take(report, is_shared ? OTHER_SHARES : OTHER_EQUALS,
				   g_steal_pointer(&path), report->data_bytes);
	if (!is_shared) {
		report->equal_bytes = report->data_bytes;
		report->would_free_bytes =
			MAX(report->would_free_bytes, report->data_bytes - count.shared_bytes[0]);
	}
	return true;
}

/* The files that equal it as a whole. */
static bool look_for_equals(FileReport *report, const NamedFile *file, HashStore *store,
			    const Object *known, GError **error)
{
	g_autoptr(Equals) equals = equals_open(store, error);
	const GArray *ids;
	bool has_more;

	if (!equals || !equals_find(equals, known, FILE_REPORT_OTHERS, &ids, &has_more, error))
		return false;
	for (guint i = 0; i < ids->len; i++)
		if (!look_at_equal(report, file, store, g_array_index(ids, uint32_t, i), error))
			return false;

	report->n_others += has_more;
	return true;
}

static FileReport *report_new(void)
{
	FileReport *report = g_new0(FileReport, 1);

	report->extents = g_array_new(false, true, sizeof(ReportedExtent));
	g_array_set_clear_func(report->extents, extent_clear);
	report->others = g_array_new(false, true, sizeof(ReportedFile));
	g_array_set_clear_func(report->others, other_clear);
	return report;
}

FileReport *file_report_make(const NamedFile *file, HashStore *store, GError **error)
{
	g_autoptr(FileReport) report = report_new();
	g_autoptr(ExtentView) view = NULL;
	const Object *found = NULL;
	bool is_known;
	Object known;

	if (store && !hash_store_find_at(store, file->subvolume, file->stat.inode, &found, error))
		return NULL;
	report->state = store ? state_of(found, file) : FILE_NO_STORE;
	is_known = report->state == FILE_KNOWN;
	report->is_version = found;
	report->is_unsettled = is_known && found->id >= hash_store_settled_below(store);
	report->skip_reason = found ? found->skip_reason : 0;
	if (is_known)
		known = *found;

	if (store && file->identity.kind == FS_KIND_BTRFS && geteuid() == 0) {
		view = extent_view_open(file, store, error);
		if (!view)
			return NULL;
		report->is_in_use = extent_view_is_in_use(view);
	}
	if (!look_at_pieces(report, file, view, error))
		return NULL;
	if (is_known && !look_for_equals(report, file, store, &known, error))
		return NULL;
	if (view)
		extent_view_finish(view, report);

	return g_steal_pointer(&report);
}
