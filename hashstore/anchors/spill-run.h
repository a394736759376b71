/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * SpillRun - sorted records in an unnamed temporary file, written once and read in order.
 *
 * Thread: any, one at a time.
 */
typedef struct SpillRun SpillRun;

SpillRun *spill_run_new(const char *directory, size_t record_bytes, unsigned level, GError **error);
void spill_run_free(SpillRun *run);

/* The number of merges that made it. */
unsigned spill_run_level(const SpillRun *run);

/* Append @n records. */
bool spill_run_write(SpillRun *run, const void *records, size_t n, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Read from the first record on, through @buffer of @size records, which the caller owns. */
bool spill_run_rewind(SpillRun *run, void *buffer, size_t size, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Go to the next record. */
bool spill_run_next(SpillRun *run, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The current record; NULL after the last. */
const void *spill_run_record(const SpillRun *run);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SpillRun, spill_run_free)
