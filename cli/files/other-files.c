/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/other-files.h"

#include <stdlib.h>

/* The maximum number of other files stored. */
#define OTHERS_MOST 65536

/* A file related to the current one. */
typedef struct {
	uint64_t root;
	uint64_t inode;
	OtherRelation relation;
	uint64_t bytes;
} Other;

/* A range of the extent, or of an equal one, that another file references. */
typedef struct {
	uint64_t root;
	uint64_t inode;
	OtherRelation relation;
	uint64_t position;
	uint64_t end;
} Met;

struct OtherFiles {
	GHashTable *others; /* Other by itself */
	GArray *met;        /* Met, of the current extent */
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

OtherFiles *other_files_new(void)
{
	OtherFiles *files = g_new0(OtherFiles, 1);

	files->others = g_hash_table_new_full(other_hash, other_equal, g_free, NULL);
	files->met = g_array_new(false, false, sizeof(Met));
	return files;
}

void other_files_free(OtherFiles *files)
{
	if (!files)
		return;

	g_hash_table_unref(files->others);
	g_array_unref(files->met);
	g_free(files);
}

void other_files_clear(OtherFiles *files)
{
	g_hash_table_remove_all(files->others);
	g_array_set_size(files->met, 0);
	files->n_left_out = 0;
}

void other_files_meet(OtherFiles *files, uint64_t root, uint64_t inode, OtherRelation relation,
		      uint64_t position, uint64_t end)
{
	const Met met = { root, inode, relation, position, end };

	g_array_append_val(files->met, met);
}

static void count(OtherFiles *files, const Met *met, uint64_t bytes)
{
	const Other key = { met->root, met->inode, met->relation, 0 };
	Other *other = g_hash_table_lookup(files->others, &key);

	if (bytes == 0)
		return;
	if (!other && g_hash_table_size(files->others) >= OTHERS_MOST) {
		files->n_left_out++;
		return;
	}
	if (!other) {
		other = g_memdup2(&key, sizeof(key));
		g_hash_table_add(files->others, other);
	}
	other->bytes += bytes;
}

static int compare_met(const void *a, const void *b)
{
	const Met *one = a, *other = b;

	if (one->root != other->root)
		return one->root < other->root ? -1 : 1;
	if (one->inode != other->inode)
		return one->inode < other->inode ? -1 : 1;
	if (one->relation != other->relation)
		return one->relation < other->relation ? -1 : 1;
	return (one->position > other->position) - (one->position < other->position);
}

/* Bytes that a file references several times count once. */
void other_files_count(OtherFiles *files, const SpanMeasure *own)
{
	g_array_sort(files->met, compare_met);
	for (guint i = 0, n; i < files->met->len; i = n) {
		Met *met = &g_array_index(files->met, Met, i);

		for (n = i + 1; n < files->met->len; n++) {
			const Met *next = &g_array_index(files->met, Met, n);

			if (next->root != met->root || next->inode != met->inode ||
			    next->relation != met->relation || next->position > met->end)
				break;
			met->end = MAX(met->end, next->end);
		}
		count(files, met, span_measure_bytes(own, met->position, met->end));
	}
	g_array_set_size(files->met, 0);
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

void other_files_report(const OtherFiles *files, BtrfsPaths *paths, FileReport *report)
{
	guint n;
	g_autofree void **others = g_hash_table_get_keys_as_array(files->others, &n);

	qsort(others, n, sizeof(*others), compare_others);
	for (guint i = 0; i < n; i++) {
		const Other *other = others[i];
		bool is_listed = report->others->len < FILE_REPORT_OTHERS;

		file_report_add_other_take(
			report, other->relation,
			is_listed ? btrfs_paths_find(paths, other->root, other->inode) : NULL,
			other->bytes);
	}
	report->n_others += files->n_left_out;
}
