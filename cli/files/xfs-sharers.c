/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/xfs-sharers.h"

#include "cli/files/span-measure.h"
#include "cli/files/stored-object.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/xfs/xfs-fsmap.h"

#include <fcntl.h>
#include <stdlib.h>

/* Limits of pieces that are looked up, and of references examined in all. */
#define PIECES_MOST     64
#define REFERENCES_MOST 4096

/* The maximum number of files whose names are looked up. */
#define NAMES_MOST 64

typedef struct {
	uint64_t inode;
	uint64_t bytes;
} Sharer;

/* A range of the current piece that another file references. */
typedef struct {
	uint64_t inode;
	uint64_t begin;
	uint64_t end;
} Met;

struct XfsSharers {
	const NamedFile *file;
	GHashTable *files; /* Sharer by its inode */
	GArray *met;       /* Met */
	SpanMeasure *others;
	uint64_t others_bytes;
	guint n_pieces;
	guint n_references;
	bool is_whole;
};

XfsSharers *xfs_sharers_new(const NamedFile *file)
{
	XfsSharers *sharers = g_new0(XfsSharers, 1);

	sharers->file = file;
	sharers->files = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	sharers->met = g_array_new(false, false, sizeof(Met));
	sharers->others = span_measure_new();
	sharers->is_whole = true;
	return sharers;
}

void xfs_sharers_free(XfsSharers *sharers)
{
	if (!sharers)
		return;

	g_hash_table_unref(sharers->files);
	g_array_unref(sharers->met);
	span_measure_free(sharers->others);
	g_free(sharers);
}

static void count(XfsSharers *sharers, uint64_t inode, uint64_t bytes)
{
	Sharer *sharer = g_hash_table_lookup(sharers->files, &inode);

	if (!sharer) {
		sharer = g_new0(Sharer, 1);
		sharer->inode = inode;
		g_hash_table_insert(sharers->files, &sharer->inode, sharer);
	}
	sharer->bytes += bytes;
}

static int compare_met(const void *a, const void *b)
{
	const Met *one = a, *other = b;

	if (one->inode != other->inode)
		return one->inode < other->inode ? -1 : 1;
	return (one->begin > other->begin) - (one->begin < other->begin);
}

/* Bytes that a file references several times count once. */
static void count_met(XfsSharers *sharers)
{
	uint64_t inode = 0, end = 0;

	g_array_sort(sharers->met, compare_met);
	for (guint i = 0; i < sharers->met->len; i++) {
		const Met *met = &g_array_index(sharers->met, Met, i);
		uint64_t begin = met->inode == inode ? MAX(met->begin, end) : met->begin;

		if (begin < met->end)
			count(sharers, met->inode, met->end - begin);
		end = met->inode == inode ? MAX(end, met->end) : met->end;
		inode = met->inode;
	}
	g_array_set_size(sharers->met, 0);
}

/* Returns false if the filesystem does not tell, or there are too many. */
static bool look_at(XfsSharers *sharers, uint64_t begin, uint64_t end)
{
	g_autoptr(XfsFsmap) map = xfs_fsmap_new(sharers->file->fd);
	const XfsOwnedExtent *extent;
	bool has_own = false;

	xfs_fsmap_restrict(map, begin, end);
	while (sharers->n_references++ < REFERENCES_MOST) {
		if (!xfs_fsmap_next(map, &extent, NULL))
			return false;
		if (!extent)
			return has_own;

		uint64_t from = MAX(begin, extent->physical);
		uint64_t to = MIN(end, extent->physical + extent->length);

		if (from >= to)
			continue;
		if (extent->inode == sharers->file->stat.inode) {
			has_own = true;
			continue;
		}
		Met met = { extent->inode, from, to };

		g_array_append_val(sharers->met, met);
		span_measure_add(sharers->others, from, to, 1);
	}

	return false;
}

void xfs_sharers_add(XfsSharers *sharers, const FilePiece *piece)
{
	uint64_t end = piece->position + piece->length;

	if (sharers->n_pieces == PIECES_MOST || !sharers->is_whole) {
		sharers->is_whole = false;
		return;
	}

	sharers->n_pieces++;
	span_measure_clear(sharers->others);
	sharers->is_whole = look_at(sharers, piece->position, end);
	count_met(sharers);
	span_measure_finish(sharers->others, 1);
	sharers->others_bytes += span_measure_bytes(sharers->others, piece->position, end);
}

bool xfs_sharers_are_whole(const XfsSharers *sharers)
{
	return sharers->is_whole;
}

uint64_t xfs_sharers_bytes(const XfsSharers *sharers)
{
	return sharers->others_bytes;
}

/* Its path by the names in the store, if it is there; or NULL. */
static char *path_of(const XfsSharers *sharers, HashStore *store, uint64_t inode)
{
	g_autofree char *path = NULL;
	const Object *known;
	FileStat stat;

	if (!store || !hash_store_find_at(store, 0, inode, &known, NULL) || !known)
		return NULL;

	g_autofree uint8_t *name = g_memdup2(known->name, known->name_bytes);
	Object object = *known;

	object.name = name;
	path = stored_object_path(store, &object);
	if (!path || file_stat_at(AT_FDCWD, path, &stat) != 0 || stat.inode != inode ||
	    stat.device_major != sharers->file->stat.device_major ||
	    stat.device_minor != sharers->file->stat.device_minor)
		return NULL;
	return g_steal_pointer(&path);
}

static int compare_sharers(const void *a, const void *b)
{
	const Sharer *one = *(const Sharer *const *)a, *other = *(const Sharer *const *)b;

	if (one->bytes != other->bytes)
		return one->bytes > other->bytes ? -1 : 1;
	return (one->inode > other->inode) - (one->inode < other->inode);
}

void xfs_sharers_report(const XfsSharers *sharers, HashStore *store, FileReport *report)
{
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();
	GHashTableIter iter;
	void *sharer;

	g_hash_table_iter_init(&iter, sharers->files);
	while (g_hash_table_iter_next(&iter, NULL, &sharer))
		g_ptr_array_add(sorted, sharer);
	g_ptr_array_sort(sorted, compare_sharers);
	for (guint i = 0; i < sorted->len; i++) {
		const Sharer *one = sorted->pdata[i];

		file_report_add_other_take(report, OTHER_SHARES,
					   i < NAMES_MOST ? path_of(sharers, store, one->inode)
							  : NULL,
					   MIN(one->bytes, report->data_bytes));
	}
}
