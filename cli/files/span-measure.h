/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * SpanMeasure - measures how many bytes of a range lie in a set of spans.
 *
 * First add all spans, then finish, then measure ranges.  The total cost is O(n log n).
 *
 * Pure.  Thread: one at a time.
 */
typedef struct SpanMeasure SpanMeasure;

SpanMeasure *span_measure_new(void);
void span_measure_free(SpanMeasure *measure);

/* Begin anew, without spans. */
void span_measure_clear(SpanMeasure *measure);

/* Add the bytes from @begin to @end, @times. */
void span_measure_add(SpanMeasure *measure, uint64_t begin, uint64_t end, unsigned times);

/*
 * Finish adding.  Each byte counts once if at least @least spans have it.  If @least is 0, it counts once for
 * each span that has it.
 */
void span_measure_finish(SpanMeasure *measure, unsigned least);

uint64_t span_measure_bytes(const SpanMeasure *measure, uint64_t begin, uint64_t end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SpanMeasure, span_measure_free)
