/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/span-measure.h"

/* A position at which spans begin or end. */
typedef struct {
	uint64_t position;
	int64_t step; /* by which the depth changes */
} Edge;

/* How often each byte counts from here to the next point. */
typedef struct {
	uint64_t position;
	uint64_t weight;
	uint64_t before; /* count of all bytes before it */
} Point;

struct SpanMeasure {
	GArray *edges;
	GArray *points;
};

SpanMeasure *span_measure_new(void)
{
	SpanMeasure *measure = g_new0(SpanMeasure, 1);

	measure->edges = g_array_new(false, false, sizeof(Edge));
	measure->points = g_array_new(false, false, sizeof(Point));
	return measure;
}

void span_measure_free(SpanMeasure *measure)
{
	if (!measure)
		return;

	g_array_unref(measure->edges);
	g_array_unref(measure->points);
	g_free(measure);
}

void span_measure_clear(SpanMeasure *measure)
{
	g_array_set_size(measure->edges, 0);
	g_array_set_size(measure->points, 0);
}

void span_measure_add(SpanMeasure *measure, uint64_t begin, uint64_t end, unsigned times)
{
	const Edge edges[] = { { begin, times }, { end, -(int64_t)times } };

	if (begin < end)
		g_array_append_vals(measure->edges, edges, G_N_ELEMENTS(edges));
}

static int compare_edges(const void *a, const void *b)
{
	const Edge *one = a, *other = b;

	return (one->position > other->position) - (one->position < other->position);
}

void span_measure_finish(SpanMeasure *measure, unsigned least)
{
	Point last = { 0 };
	int64_t depth = 0;

	g_array_sort(measure->edges, compare_edges);
	for (guint i = 0; i < measure->edges->len; i++) {
		const Edge *edge = &g_array_index(measure->edges, Edge, i);

		depth += edge->step;
		last.before += (edge->position - last.position) * last.weight;
		last.position = edge->position;
		last.weight = least == 0 ? (uint64_t)depth : depth >= (int64_t)least;
		g_array_append_val(measure->points, last);
	}
}

/* The count of all bytes before @position. */
static uint64_t bytes_before(const SpanMeasure *measure, uint64_t position)
{
	const Point *points = (const Point *)(const void *)measure->points->data;
	guint low = 0, high = measure->points->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (points[middle].position <= position)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;

	const Point *last = &points[low - 1];
	return last->before + (position - last->position) * last->weight;
}

uint64_t span_measure_bytes(const SpanMeasure *measure, uint64_t begin, uint64_t end)
{
	return begin < end ? bytes_before(measure, end) - bytes_before(measure, begin) : 0;
}
