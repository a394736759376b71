/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fences - a sparse index: the first digests of pages, or of rows of fences.
 *
 * A fence is the upper 32 bits of a digest: 4 bytes, low byte first.
 *
 * Thread: any.
 */
#define FENCE_BYTES 4

/* Fences in one row of the table fence, which fills one SQLite page. */
#define FENCES_PER_ROW 1014

static inline void fences_append(GByteArray *fences, uint64_t digest)
{
	uint32_t little = GUINT32_TO_LE((uint32_t)(digest >> 32));

	g_byte_array_append(fences, (const guint8 *)&little, FENCE_BYTES);
}

/* The index of the last entry that surely begins before the first anchor of @digest, or 0. */
size_t fences_find(const uint8_t *fences, size_t n_fences, uint64_t digest);
