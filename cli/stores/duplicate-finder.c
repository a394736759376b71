/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stores/duplicate-finder.h"

#include "cli/files/shown-files.h"
#include "cli/files/stored-object.h"
#include "common/text/path.h"
#include "hashstore/objects/equal-groups.h"

/* Memory for files and for extents each; half of it while they are sorted by digest only. */
#define MEMORY_BYTES ((size_t)64 << 20)

struct DuplicateFinder {
	HashStore *store;
	const DuplicateLimits *limits;
	EqualGroups *files;
	EqualGroups *extents;
	const EqualGroup *next_files; /* NULL at the end */
	const EqualGroup *next_extents;
	ShownFiles *shown; /* NULL if extents are not known */
	ProgressLine progress;
	uint64_t n_groups; /* taken so far */
	DuplicatesLeftOut left_out;
};

DuplicateFinder *duplicate_finder_open(HashStore *store, const DuplicateLimits *limits,
				       GError **error)
{
	g_autoptr(DuplicateFinder) finder = g_new0(DuplicateFinder, 1);

	finder->store = store;
	finder->limits = limits;
	progress_line_begin();
	finder->files =
		equal_groups_open(store, EQUAL_FILES, limits->min_bytes, MEMORY_BYTES, error);
	if (!finder->files || !equal_groups_next(finder->files, &finder->next_files, error))
		return NULL;
	/* Extents are smaller than their files. */
	finder->extents = equal_groups_open(
		store, limits->with_shared ? EQUAL_OR_ALONE_EXTENTS : EQUAL_EXTENTS, 0,
		MEMORY_BYTES, error);
	if (!finder->extents || !equal_groups_next(finder->extents, &finder->next_extents, error))
		return NULL;
	if (finder->next_extents || (finder->next_files && hash_store_has_extents(store))) {
		finder->shown = shown_files_open(store, &finder->progress, error);
		if (!finder->shown)
			return NULL;
	}

	return g_steal_pointer(&finder);
}

void duplicate_finder_close(DuplicateFinder *finder)
{
	if (!finder)
		return;

	equal_groups_close(finder->files);
	equal_groups_close(finder->extents);
	shown_files_close(finder->shown);
	progress_line_end(&finder->progress);
	g_free(finder);
}

static bool is_wanted(const DuplicateFinder *finder, const NamedFile *file)
{
	return file->stat.size_bytes >= MAX(finder->limits->min_bytes, 1) &&
	       (!finder->limits->under || path_lies_in(file->path, finder->limits->under));
}

static void add_group_take(GPtrArray *groups, DuplicateGroup *group)
{
	duplicate_group_end(group);
	if (group->files->len > 1)
		g_ptr_array_add(groups, group);
	else
		duplicate_group_free(group);
}

static void show_progress(DuplicateFinder *finder)
{
	if (progress_line_is_due(&finder->progress))
		progress_line_show(&finder->progress,
				   "%" G_GUINT64_FORMAT " groups of equal data were looked at",
				   finder->n_groups);
}

/* The group of files that are known by their versions. */
static bool take_files(DuplicateFinder *finder, GPtrArray *groups, GError **error)
{
	g_autoptr(DuplicateGroup) group = duplicate_group_new();

	for (size_t i = 0; i < finder->next_files->n_ids; i++) {
		const KnownWays *ways = finder->shown ? shown_files_ways(finder->shown) : NULL;
		KnownVersion version;
		NamedFile *file;

		show_progress(finder);
		if (!hash_store_read_on(finder->store, error) ||
		    !stored_object_open(finder->store, finder->next_files->ids[i], ways, &file,
					NULL, &version, error))
			return false;
		finder->left_out.fresh += version == KNOWN_FRESH;
		finder->left_out.stale += version == KNOWN_STALE || version == KNOWN_FORGOTTEN;
		if (version != KNOWN_SAME)
			named_file_close(file);
		else if (!is_wanted(finder, file))
			named_file_close(file);
		else if (!duplicate_group_add_take(group, file, error))
			return false;
	}

	add_group_take(groups, g_steal_pointer(&group));
	return equal_groups_next(finder->files, &finder->next_files, error);
}

/* A group of files that show equal extents. */
static bool take_shown(DuplicateFinder *finder, const GArray *ids, GPtrArray *groups,
		       GError **error)
{
	g_autoptr(DuplicateGroup) group = duplicate_group_new();

	for (guint i = 0; i < ids->len; i++) {
		NamedFile *file =
			shown_files_open_file(finder->shown, &g_array_index(ids, FileId, i));

		if (!file)
			continue;
		if (!is_wanted(finder, file))
			named_file_close(file);
		else if (!duplicate_group_add_take(group, file, error))
			return false;
	}

	add_group_take(groups, g_steal_pointer(&group));
	return true;
}

/* The groups of files that show the extents of one group. */
static bool take_extents(DuplicateFinder *finder, GPtrArray *groups, GError **error)
{
	g_autoptr(GPtrArray) equal = NULL;

	for (size_t i = 0; i < finder->next_extents->n_ids; i++) {
		bool found, is_there = false;
		Object extent;

		show_progress(finder);
		if (!hash_store_read_on(finder->store, error) ||
		    !hash_store_peek(finder->store, finder->next_extents->ids[i], &extent, &found,
				     error) ||
		    (found && !shown_files_add(finder->shown, &extent, &is_there, error)))
			return false;
		finder->left_out.gone += !is_there;
	}
	if (!shown_files_take_equal(finder->shown, &equal, error))
		return false;
	for (guint i = 0; i < equal->len; i++)
		if (!take_shown(finder, equal->pdata[i], groups, error))
			return false;

	return equal_groups_next(finder->extents, &finder->next_extents, error);
}

static uint64_t spare_bytes(const EqualGroup *group)
{
	return group ? equal_group_spare_bytes(group) : 0;
}

bool duplicate_finder_next(DuplicateFinder *finder, GPtrArray *groups, bool *ret_more,
			   GError **error)
{
	bool done;

	*ret_more = finder->next_files || finder->next_extents;
	if (!*ret_more)
		return true;

	finder->n_groups++;
	done = finder->next_files &&
			       spare_bytes(finder->next_files) >= spare_bytes(finder->next_extents)
		       ? take_files(finder, groups, error)
		       : take_extents(finder, groups, error);
	/* Printing may block until the output is read. */
	if (groups->len > 0) {
		hash_store_end_reads(finder->store);
		progress_line_clear(&finder->progress);
	}
	return done;
}

uint64_t duplicate_finder_most(const DuplicateFinder *finder)
{
	return MAX(spare_bytes(finder->next_files), spare_bytes(finder->next_extents));
}

void duplicate_finder_add_left_out(const DuplicateFinder *finder, DuplicatesLeftOut *sum)
{
	sum->stale += finder->left_out.stale;
	sum->fresh += finder->left_out.fresh;
	sum->gone += finder->left_out.gone;
}
