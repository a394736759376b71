/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * RacingWriter - changes files of its own in all ways at random, and knows what they must hold.
 *
 * It has a subvolume and a few snapshots of it, which live for a while and of which some are written to.
 * Most changes are made to few files at a time, so that others rest long enough to be shared.
 * What is written comes in large part from material that all writers have in common, with small edits.
 *
 * Thread: one.
 */
typedef struct RacingWriter RacingWriter;

#define MATERIAL_BYTES (UINT64_C(6) << 20)

/* What the files are made of: the same in all programs. */
uint8_t *racing_writer_make_material(void);

/*
 * @material must outlive the writer.  Its subvolumes are made in @directory and have @number in their
 * names.
 */
RacingWriter *racing_writer_new(const char *directory, unsigned number, uint32_t seed,
				const uint8_t *material, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void racing_writer_free(RacingWriter *writer);

/* Do one operation; false when anything is not as it must be. */
bool racing_writer_step(RacingWriter *writer, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Compare all files with what they must be. */
bool racing_writer_check(const RacingWriter *writer, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Print what was done last. */
void racing_writer_print_last(const RacingWriter *writer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RacingWriter, racing_writer_free)
