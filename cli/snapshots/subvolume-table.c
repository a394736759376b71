/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/snapshots/subvolume-table.h"

#include "common/text/name-text.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#include <string.h>

#define USEC_NSEC INT64_C(1000)

#define SUBVOLUME_COLUMNS(COLUMN)                                                                  \
	COLUMN(SUBVOLUME_RECLAIMABLE, "RECLAIM", "reclaimable_bytes", COLUMN_NUMBER)               \
	COLUMN(SUBVOLUME_EXCLUSIVE, "EXCLUSIVE", "exclusive_bytes", COLUMN_NUMBER)                 \
	COLUMN(SUBVOLUME_EXCLUSIVE_METADATA, "METADATA", "exclusive_metadata_bytes",               \
	       COLUMN_NUMBER)                                                                      \
	COLUMN(SUBVOLUME_REFERENCED, "REFERENCED", "referenced_bytes", COLUMN_NUMBER)              \
	COLUMN(SUBVOLUME_REFERENCED_METADATA, NULL, "referenced_metadata_bytes", COLUMN_NUMBER)    \
	COLUMN(SUBVOLUME_DEFERRED, "DEFERRED", "deferred_bytes", COLUMN_NUMBER)                    \
	COLUMN(SUBVOLUME_CREATED, "CREATED", "created", COLUMN_TEXT)                               \
	COLUMN(SUBVOLUME_ACCESS, "ACCESS", "access", COLUMN_TEXT)                                  \
	COLUMN(SUBVOLUME_PARENT, "SNAPSHOT OF", "parent", COLUMN_TEXT)                             \
	COLUMN(SUBVOLUME_PATH, "SUBVOLUME", "path", COLUMN_TEXT)                                   \
	COLUMN(SUBVOLUME_ID, NULL, "id", COLUMN_NUMBER)                                            \
	COLUMN(SUBVOLUME_UUID, NULL, "uuid", COLUMN_TEXT)                                          \
	COLUMN(SUBVOLUME_PARENT_UUID, NULL, "parent_uuid", COLUMN_TEXT)                            \
	COLUMN(SUBVOLUME_FILESYSTEM, NULL, "filesystem", COLUMN_TEXT)

TABLE_COLUMNS(columns, SUBVOLUME_COLUMNS);

const TableKind table_of_snapshots = { "subvolumes", columns, G_N_ELEMENTS(columns), NULL, 0 };

/* A row, as far as it decides where it stands. */
typedef struct {
	guint place;
	uint64_t id;
	UsageBytes exclusive;
	uint64_t total_bytes;
	bool can_go;
} Row;

Table *subvolume_table_new(const Options *options)
{
	return table_new_asked(&table_of_snapshots, options);
}

static const BtrfsSubvolume *subvolume_at(const SubvolumeUsage *usage, guint place)
{
	return &g_array_index(subvolume_usage_subvolumes(usage), BtrfsSubvolume, place);
}

static int compare_rows(const void *one, const void *other)
{
	const Row *a = one, *b = other;

	if (a->can_go != b->can_go)
		return a->can_go ? -1 : 1;
	if (a->total_bytes != b->total_bytes)
		return a->total_bytes > b->total_bytes ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static void add_row(GArray *rows, const SubvolumeUsage *usage, guint place)
{
	const BtrfsSubvolume *subvolume = subvolume_at(usage, place);
	Row row = { .place = place, .id = subvolume->id };

	row.exclusive = subvolume_usage_exclusive(usage, &place, 1);
	row.total_bytes = row.exclusive.data_bytes + row.exclusive.metadata_bytes;
	row.can_go = row.id != BTRFS_SUBVOLUME_TOP;
	g_array_append_val(rows, row);
}

/* NULL where it is not known. */
static char *uuid_text(const uint8_t *uuid)
{
	char *text;

	if (!fs_uuid_is_set(uuid))
		return NULL;
	text = g_malloc(FS_UUID_TEXT_BYTES);
	fs_uuid_format(uuid, text);
	return text;
}

static void set_path(Table *table, size_t column, BtrfsPaths *paths, uint64_t id)
{
	g_autofree char *path = btrfs_paths_find_subvolume(paths, id);
	g_autofree char *text = path ? name_text(path, strlen(path)) : NULL;

	table_set_text(table, column, text);
}

static void set_parent(Table *table, const SubvolumeUsage *usage, BtrfsPaths *paths,
		       const BtrfsSubvolume *subvolume)
{
	g_autofree char *uuid = uuid_text(subvolume->parent_uuid);
	const GArray *all = subvolume_usage_subvolumes(usage);

	table_set_text(table, SUBVOLUME_PARENT_UUID, uuid);
	for (guint i = 0; uuid && i < all->len; i++) {
		const BtrfsSubvolume *parent = subvolume_at(usage, i);

		if (parent->is_dead || !fs_uuid_equal(parent->uuid, subvolume->parent_uuid))
			continue;
		set_path(table, SUBVOLUME_PARENT, paths, parent->id);
		return;
	}
}

static void show(Table *table, const SubvolumeUsage *usage, BtrfsPaths *paths,
		 const DeferredSums *deferred, const char *uuid, const Row *row)
{
	const BtrfsSubvolume *subvolume = subvolume_at(usage, row->place);
	const UsageBytes referenced = subvolume_usage_referenced(usage, row->place);
	g_autofree char *own_uuid = uuid_text(subvolume->uuid);

	table_add_row(table);
	if (row->can_go)
		table_set_size(table, SUBVOLUME_RECLAIMABLE, row->total_bytes);
	table_set_size(table, SUBVOLUME_EXCLUSIVE, row->exclusive.data_bytes);
	table_set_size(table, SUBVOLUME_EXCLUSIVE_METADATA, row->exclusive.metadata_bytes);
	table_set_size(table, SUBVOLUME_REFERENCED, referenced.data_bytes);
	table_set_size(table, SUBVOLUME_REFERENCED_METADATA, referenced.metadata_bytes);
	if (deferred)
		table_set_size(table, SUBVOLUME_DEFERRED, deferred_sums_of(deferred, row->id));
	if (subvolume->otime_nsec > 0)
		table_set_time(table, SUBVOLUME_CREATED, subvolume->otime_nsec / USEC_NSEC);
	table_set_text(table, SUBVOLUME_ACCESS, subvolume->is_read_only ? "ro" : "rw");
	set_parent(table, usage, paths, subvolume);
	set_path(table, SUBVOLUME_PATH, paths, subvolume->id);
	table_set_count(table, SUBVOLUME_ID, subvolume->id);
	table_set_text(table, SUBVOLUME_UUID, own_uuid);
	table_set_text(table, SUBVOLUME_FILESYSTEM, uuid);
}

void subvolume_table_add(Table *table, const SubvolumeUsage *usage, BtrfsPaths *paths,
			 const DeferredSums *deferred, const char *uuid, const guint *places,
			 guint n)
{
	g_autoptr(GArray) rows = g_array_new(false, false, sizeof(Row));

	for (guint i = 0; places && i < n; i++)
		add_row(rows, usage, places[i]);
	for (guint i = 0; !places && i < subvolume_usage_subvolumes(usage)->len; i++)
		if (!subvolume_at(usage, i)->is_dead)
			add_row(rows, usage, i);

	g_array_sort(rows, compare_rows);
	for (guint i = 0; i < rows->len; i++)
		show(table, usage, paths, deferred, uuid, &g_array_index(rows, Row, i));
}
