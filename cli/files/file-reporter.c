/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/file-reporter.h"

#include "cli/files/exclusive-ranges.h"
#include "cli/files/extent-view.h"
#include "cli/files/file-pieces.h"
#include "cli/files/shared-bytes.h"
#include "cli/files/stored-object.h"
#include "cli/files/xfs-sharers.h"
#include "cli/terminal/progress-line.h"
#include "hashstore/objects/equals.h"

#include <unistd.h>

#define MEMORY_BYTES ((size_t)16 << 20)

struct FileReporter {
	HashStore *store; /* or NULL */
	ExtentView *view; /* NULL until it is needed */
	ProgressLine progress;
	uint64_t n_files; /* that were begun */
	bool asks_sharers;
};

static bool add_extent(FileReport *report, const FilePiece *piece, ReportedExtent *extent,
		       GError **error)
{
	extent->logical = piece->logical;
	extent->physical = piece->flags & PIECE_ENCODED ? piece->space : piece->position;
	extent->length = piece->length;
	extent->flags = piece->flags;
	report->n_extents++;
	report->data_bytes += piece->length;
	report->elsewhere_bytes += extent->elsewhere_bytes;
	return sorter_add(report->extents, extent, error);
}

/* Data known only from FIEMAP. */
static bool add_mapped(FileReport *report, const FilePiece *piece, ExclusiveRanges *lone,
		       XfsSharers *sharers, GError **error)
{
	ReportedExtent extent = {
		.state = report->state,
		.skip_reason = report->skip_reason,
		.is_unsettled = report->is_unsettled,
		.places = FILE_REPORT_NOT_ASKED,
	};

	if (piece->flags & PIECE_SHARED) {
		if (!exclusive_ranges_add(lone, piece, error))
			return false;
		extent.shared_bytes = piece->length;
		report->shared_bytes += piece->length;
		report->is_mapped = true;
		if (sharers)
			xfs_sharers_add(sharers, piece);
	}
	return add_extent(report, piece, &extent, error);
}

static void show_progress(FileReporter *reporter, const FileReport *report, uint64_t n_pieces)
{
	if (progress_line_is_due(&reporter->progress))
		progress_line_show(&reporter->progress,
				   "file %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT
				   " of %" G_GUINT64_FORMAT " extents were looked at",
				   reporter->n_files, report->n_extents,
				   report->n_extents + n_pieces);
}

/* All pieces of one extent. */
static bool look_at_extent(FileReporter *reporter, FileReport *report, const GArray *pieces,
			   GError **error)
{
	const FilePiece *first = (const FilePiece *)(const void *)pieces->data;
	g_autofree ReportedExtent *extents = g_new0(ReportedExtent, pieces->len);

	if (!extent_view_look(reporter->view, first, pieces->len, report, extents, error))
		return false;
	for (guint i = 0; i < pieces->len; i++)
		if (!add_extent(report, &first[i], &extents[i], error))
			return false;

	return true;
}

/* Go extent by extent, in the order of addresses, which is the order of the store and the trees. */
static bool look_at_extents(FileReporter *reporter, FileReport *report, Sorter *pieces,
			    GError **error)
{
	g_autoptr(GArray) together = g_array_new(false, false, sizeof(FilePiece));
	uint64_t n_left = sorter_count(pieces);
	const FilePiece *piece;

	if (!sorter_sort(pieces, error))
		return false;
	do {
		if (!sorter_next(pieces, (const void **)&piece, error))
			return false;
		if (together->len > 0 &&
		    (!piece || piece->extent != g_array_index(together, FilePiece, 0).extent)) {
			if (!look_at_extent(reporter, report, together, error))
				return false;
			n_left -= together->len;
			g_array_set_size(together, 0);
			show_progress(reporter, report, n_left);
		}
		if (piece)
			g_array_append_vals(together, piece, 1);
	} while (piece);

	return true;
}

static int compare_places(const void *a, const void *b)
{
	const FilePiece *one = a, *other = b;

	if (one->extent != other->extent)
		return one->extent < other->extent ? -1 : 1;
	return (one->logical > other->logical) - (one->logical < other->logical);
}

/* The filesystem already reported who shares the file. */
static void take_sharers(FileReporter *reporter, FileReport *report, const XfsSharers *sharers)
{
	uint64_t bytes = xfs_sharers_bytes(sharers);

	report->elsewhere_bytes = MAX(report->elsewhere_bytes, bytes);
	report->mapped_others_bytes = MAX(report->mapped_others_bytes, bytes);
	report->has_sharers = bytes > 0;
	report->has_more_sharers = bytes > 0 && !xfs_sharers_are_whole(sharers);
	report->is_mapped &= !xfs_sharers_are_whole(sharers);
	xfs_sharers_report(sharers, reporter->store, report);
}

/* Go over the pieces; the view, if there is one, adds details of btrfs extents. */
static bool look_at_pieces(FileReporter *reporter, FileReport *report, const NamedFile *file,
			   bool has_view, GError **error)
{
	bool from_map = !has_view || extent_view_is_in_use(reporter->view);
	g_autoptr(FilePieces) pieces = file_pieces_open(file, from_map, error);
	g_autoptr(ExclusiveRanges) lone = exclusive_ranges_new();
	g_autoptr(XfsSharers) sharers = reporter->asks_sharers && file->identity.kind == FS_KIND_XFS
						? xfs_sharers_new(file)
						: NULL;
	g_autoptr(Sorter) placed =
		sorter_new(sizeof(FilePiece), compare_places, MEMORY_BYTES, g_get_tmp_dir(), NULL);
	uint64_t lone_bytes;
	const FilePiece *piece;

	if (!pieces)
		return false;
	do {
		if (!file_pieces_next(pieces, &piece, error))
			return false;
		if (piece && !(has_view && piece->extent > 0
				       ? sorter_add(placed, piece, error)
				       : add_mapped(report, piece, lone, sharers, error)))
			return false;
		show_progress(reporter, report, sorter_count(placed));
	} while (piece);

	if (!look_at_extents(reporter, report, placed, error) ||
	    !exclusive_ranges_count(lone, &lone_bytes, error))
		return false;
	report->elsewhere_bytes += lone_bytes;
	report->mapped_others_bytes = lone_bytes;
	if (sharers)
		take_sharers(reporter, report, sharers);
	return sorter_sort(report->extents, error);
}

static FileState state_of(const Object *known, const NamedFile *file)
{
	if (!known)
		return FILE_UNKNOWN;
	if (known->state != OBJECT_HALF && stored_object_is_fresh(known, file))
		return FILE_FRESH;
	if (!stored_object_is(known, file))
		return FILE_STALE;
	if (known->state == OBJECT_HALF)
		return FILE_HALF;
	if (known->state == OBJECT_SKIPPED)
		return FILE_SKIPPED;
	return known->state == OBJECT_SEEN ? FILE_SEEN : FILE_KNOWN;
}

/* Add a file that shares all data of this one, or equals it, or did. */
static void add_version_take(FileReport *report, OtherRelation relation, bool is_listed, char *path)
{
	uint64_t bytes = relation <= OTHER_EQUALS ? report->data_bytes : 0;

	report->elsewhere_bytes = MAX(report->elsewhere_bytes, bytes);
	if (relation == OTHER_SHARES)
		report->mapped_others_bytes = report->data_bytes;
	/* Files that share extents, or blocks, are listed with these. */
	if (relation == OTHER_SHARES && is_listed)
		g_free(path);
	else
		file_report_add_other_take(report, relation, path, bytes);
}

static OtherRelation relation_of(const FileReport *report, KnownVersion version,
				 const SharedBytes *count)
{
	/* The disk shows this, whatever happened to either file. */
	if (report->data_bytes > 0 && count->shared_bytes[0] == report->data_bytes)
		return OTHER_SHARES;
	if (version == KNOWN_SAME)
		return OTHER_EQUALS;
	return version == KNOWN_FRESH ? OTHER_FRESH : OTHER_STALE;
}

/* One that had the same digest. */
static bool look_at_equal(FileReporter *reporter, FileReport *report, const NamedFile *file,
			  const KnownWays *ways, uint32_t id, GError **error)
{
	bool is_listed = report->has_sharers || (ways && !extent_view_is_in_use(reporter->view));
	g_autofree char *path = NULL;
	g_autoptr(NamedFile) other = NULL;
	SharedBytes count = { 0 };
	OtherRelation relation;
	KnownVersion version;

	if (!stored_object_open(reporter->store, id, ways, &other, &path, &version, error))
		return false;
	if (version == KNOWN_FORGOTTEN)
		return true;
	/* On btrfs, only root learns where it lies. */
	if (!path) {
		report->n_others++;
		return true;
	}
	if (other && !shared_bytes_count(file, other, &count, error))
		return false;

	relation = relation_of(report, version, &count);
	if (relation != OTHER_SHARES && report->version_state != FILE_KNOWN)
		return true;
	if (relation == OTHER_EQUALS) {
		report->has_equal_version = true;
		report->equal_bytes = report->data_bytes;
		report->would_free_bytes =
			MAX(report->would_free_bytes, report->data_bytes - count.shared_bytes[0]);
	}
	add_version_take(report, relation, is_listed, g_steal_pointer(&path));
	return true;
}

/* Find the files that equal it as a whole. */
static bool look_for_equals(FileReporter *reporter, FileReport *report, const NamedFile *file,
			    const Object *known, bool has_view, GError **error)
{
	g_autoptr(Equals) equals = equals_open(reporter->store, error);
	KnownWays ways = { file->fd, &file->identity, NULL };
	const GArray *ids;
	bool has_more;

	if (!equals || !equals_find(equals, known, FILE_REPORT_OTHERS, &ids, &has_more, error))
		return false;
	if (has_view)
		ways.paths = extent_view_paths(reporter->view);
	for (guint i = 0; i < ids->len; i++)
		if (!look_at_equal(reporter, report, file, has_view ? &ways : NULL,
				   g_array_index(ids, uint32_t, i), error))
			return false;

	report->n_others += has_more;
	return true;
}

FileReporter *file_reporter_new(HashStore *store)
{
	FileReporter *reporter = g_new0(FileReporter, 1);

	reporter->store = store;
	return reporter;
}

void file_reporter_free(FileReporter *reporter)
{
	if (!reporter)
		return;

	progress_line_end(&reporter->progress);
	extent_view_close(reporter->view);
	g_free(reporter);
}

void file_reporter_ask_sharers(FileReporter *reporter)
{
	reporter->asks_sharers = true;
}

void file_reporter_clear_progress(FileReporter *reporter)
{
	progress_line_clear(&reporter->progress);
}

/* *ret_has_view is false if extents cannot be examined. */
static bool begin_view(FileReporter *reporter, const NamedFile *file, bool *ret_has_view,
		       GError **error)
{
	*ret_has_view = reporter->store && file->identity.kind == FS_KIND_BTRFS && geteuid() == 0;
	if (!*ret_has_view)
		return true;

	if (!reporter->view)
		reporter->view = extent_view_open(file->fd, reporter->store, error);
	return reporter->view && extent_view_begin(reporter->view, file, error);
}

FileReport *file_reporter_report(FileReporter *reporter, const NamedFile *file, GError **error)
{
	g_autoptr(FileReport) report = file_report_new();
	HashStore *store = reporter->store;
	const Object *found = NULL;
	bool has_digest, has_view;
	Object known;

	reporter->n_files++;
	if (store && !hash_store_find_at(store, file->subvolume, file->stat.inode, &found, error))
		return NULL;
	report->state = store ? state_of(found, file) : FILE_NO_STORE;
	has_digest = found && found->state == OBJECT_DONE;
	report->is_version = found;
	report->version_state = report->state;
	report->is_unsettled =
		report->state == FILE_KNOWN && found->id >= hash_store_settled_below(store);
	report->skip_reason = found ? found->skip_reason : 0;
	if (has_digest)
		known = *found;

	if (!begin_view(reporter, file, &has_view, error) ||
	    !look_at_pieces(reporter, report, file, has_view, error) ||
	    (has_digest && !look_for_equals(reporter, report, file, &known, has_view, error)))
		return NULL;
	if (has_view) {
		report->is_in_use = extent_view_is_in_use(reporter->view);
		extent_view_finish(reporter->view, report);
	}
	if (store)
		hash_store_end_reads(store);

	return g_steal_pointer(&report);
}
