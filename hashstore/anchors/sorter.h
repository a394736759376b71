/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sorter - sorts any number of records of one size within a memory limit.
 *
 * Records beyond the limit are spilled, sorted, to unnamed temporary files (O_TMPFILE), which are merged when
 * read.  Equal records keep no order.
 *
 * Once the stop flag is raised, merges end early without an error, and sorter_next() may report the end too
 * early.  So the reader must check the flag, which is never cleared.
 *
 * Thread: any, one at a time.
 */
typedef struct Sorter Sorter;

/* As for qsort(): negative, zero or positive. */
typedef int (*SorterCompare)(const void *a, const void *b);

/* @spill_directory is copied.  @stop may be NULL; it outlives the sorter. */
Sorter *sorter_new(size_t record_bytes, SorterCompare compare, size_t memory_bytes,
		   const char *spill_directory, const atomic_bool *stop);
void sorter_free(Sorter *sorter);

bool sorter_add(Sorter *sorter, const void *record, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* End adding; sorter_next() then returns the records in order. */
bool sorter_sort(Sorter *sorter, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The next record, valid until the next call; NULL at the end. */
bool sorter_next(Sorter *sorter, const void **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Begin again with the first record. */
bool sorter_rewind(Sorter *sorter, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The number of records added so far. */
uint64_t sorter_count(const Sorter *sorter);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sorter, sorter_free)
