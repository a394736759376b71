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
 * Records beyond the limit are spilled, sorted, to unnamed temporary files (O_TMPFILE) and merged
 * when read.  Equal records keep no order.
 *
 * Once its stop flag is raised, which is for good, merges end early.  That is no error, but from
 * then on the end that sorter_next() gives need not be that of the records: who reads them must look
 * at the flag.
 *
 * Thread: any, one at a time.
 */
typedef struct Sorter Sorter;

/* As for qsort: negative, zero or positive. */
typedef int (*SorterCompare)(const void *a, const void *b);

/* @spill_directory is copied; @stop, which outlives the sorter, may be NULL. */
Sorter *sorter_new(size_t record_bytes, SorterCompare compare, size_t memory_bytes,
		   const char *spill_directory, const atomic_bool *stop);
void sorter_free(Sorter *sorter);

bool sorter_add(Sorter *sorter, const void *record, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* End adding; from here on sorter_next() gives the records in order. */
bool sorter_sort(Sorter *sorter, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The next record; NULL at the end.  Valid until the next call. */
bool sorter_next(Sorter *sorter, const void **ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Begin again with the first record. */
bool sorter_rewind(Sorter *sorter, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Records added so far. */
uint64_t sorter_count(const Sorter *sorter);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sorter, sorter_free)
