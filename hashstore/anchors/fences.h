/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fences - the first digests of pages, or of pieces of such an index: its sparse index.
 *
 * Of each digest the upper 32 bits are kept, 4 bytes, low byte first.
 *
 * Thread: any.
 */
#define FENCE_BYTES 4

/* Fences in one row of the table fence: one SQLite page. */
#define FENCES_PER_ROW 1014

static inline void fences_append(GByteArray *fences, uint64_t digest)
{
	uint32_t little = GUINT32_TO_LE((uint32_t)(digest >> 32));

	g_byte_array_append(fences, (const guint8 *)&little, FENCE_BYTES);
}

/* The last place whose beginning is surely before the first entry of @digest, or 0. */
size_t fences_find(const uint8_t *fences, size_t n_fences, uint64_t digest);
