/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * WasteSum - what could be freed, and what is shared, added up by keys.
 *
 * At most WASTE_KEYS_MOST keys are told apart; what comes under others later is under WASTE_OTHERS.
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
	uint64_t files; /* that have something to reclaim */
} WasteEntry;

WasteSum *waste_sum_new(void);
void waste_sum_free(WasteSum *sum);

/* Count one file. */
void waste_sum_add(WasteSum *sum, const char *key, uint64_t reclaimable_bytes,
		   uint64_t shared_bytes);

/* All there is, under no key. */
const WasteEntry *waste_sum_total(const WasteSum *sum);

/* The entries (WasteEntry, of the sum), those with most to reclaim first, then those that share most. */
GPtrArray *waste_sum_sorted(const WasteSum *sum);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(WasteSum, waste_sum_free)
