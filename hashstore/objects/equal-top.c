/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/objects/equal-top.h"

EqualTop *equal_top_new(uint64_t bound_bytes)
{
	EqualTop *top = g_new0(EqualTop, 1);

	top->rows = g_array_new(false, false, sizeof(EqualRow));
	top->bound_bytes = MAX(bound_bytes, 1);
	return top;
}

void equal_top_free(EqualTop *top)
{
	if (!top)
		return;

	g_array_unref(top->rows);
	g_free(top);
}

uint64_t equal_row_spare_bytes(const EqualRow *row)
{
	return (row->n_objects - 1) * row->size_bytes;
}

static int compare_groups(const EqualRow *one, const EqualRow *other)
{
	if (one->digest != other->digest)
		return one->digest < other->digest ? -1 : 1;
	return (one->size_bytes > other->size_bytes) - (one->size_bytes < other->size_bytes);
}

/* By group, the most objects first. */
static int compare_rows(const void *a, const void *b)
{
	const EqualRow *one = a, *other = b;
	int order = compare_groups(one, other);

	return order ? order
		     : (one->n_objects < other->n_objects) - (one->n_objects > other->n_objects);
}

int equal_row_compare(const void *a, const void *b)
{
	uint64_t one = equal_row_spare_bytes(a), other = equal_row_spare_bytes(b);

	return one != other ? (one > other ? -1 : 1) : compare_groups(a, b);
}

void equal_top_unite(EqualTop *top)
{
	EqualRow *rows = (EqualRow *)top->rows->data;
	guint n = 0;

	g_array_sort(top->rows, compare_rows);
	for (guint i = 0; i < top->rows->len; i++)
		if (n == 0 || compare_groups(&rows[n - 1], &rows[i]) != 0)
			rows[n++] = rows[i];
	g_array_set_size(top->rows, n);
}

/* Keep the groups with most, so that there is room. */
static void raise_bound(EqualTop *top)
{
	const EqualRow *first_cut;

	equal_top_unite(top);
	if (top->rows->len <= EQUAL_TOP_KEPT)
		return;

	g_array_sort(top->rows, equal_row_compare);
	first_cut = &g_array_index(top->rows, EqualRow, EQUAL_TOP_KEPT);
	top->bound_bytes = equal_row_spare_bytes(first_cut) + 1;
	g_array_set_size(top->rows, EQUAL_TOP_KEPT);
}

void equal_top_add(EqualTop *top, const EqualRow *row)
{
	if (row->n_objects < 2 || equal_row_spare_bytes(row) < top->bound_bytes)
		return;
	if (top->rows->len == EQUAL_TOP_MOST)
		raise_bound(top);
	if (equal_row_spare_bytes(row) >= top->bound_bytes)
		g_array_append_val(top->rows, *row);
}
