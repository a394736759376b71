/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * WasteSum - sums of reclaimable and shared bytes by key.
 *
 * It has at most WASTE_KEYS_MOST keys.  Later keys count as WASTE_OTHERS.
 *
 * Pure.  Thread: any.
 */
typedef struct WasteSum WasteSum;

#define WASTE_KEYS_MOST 65536
#define WASTE_OTHERS    "(others)"

typedef struct {
	char *key; /* raw bytes */
	uint64_t reclaimable_bytes;
	uint64_t shared_bytes;
	uint64_t files; /* files with reclaimable bytes */
} WasteEntry;

WasteSum *waste_sum_new(void);
void waste_sum_free(WasteSum *sum);

/* Count one file. */
void waste_sum_add(WasteSum *sum, const char *key, uint64_t reclaimable_bytes,
		   uint64_t shared_bytes);

/* The total, without a key. */
const WasteEntry *waste_sum_total(const WasteSum *sum);

/* The entries (WasteEntry, owned by @sum), by descending reclaimable, then shared bytes. */
GPtrArray *waste_sum_sorted(const WasteSum *sum);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(WasteSum, waste_sum_free)
