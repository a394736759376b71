/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/spare-memory.h"

/* A pass does not use this part of the memory. */
#define LEFT_FRACTION 8

/* With generations, so much is left for the pass itself, too. */
#define OWN_BYTES (UINT64_C(128) << 20)

/* Percent of the last 10 s in which some process waited for memory. */
#define PRESSURE_MAX 1.0

static uint64_t less(uint64_t bytes, uint64_t of)
{
	return bytes - MIN(bytes, of);
}

/*
 * The kernel takes active pages, too, while the active list is longer than the inactive one by this
 * factor (inactive_is_low(), mm/vmscan.c).  It is the root of ten times the GiB in both, and 1
 * below a GiB.
 */
static uint64_t active_factor(const MemoryState *state)
{
	uint64_t gib = (state->inactive_bytes + state->active_bytes) >> 30;
	uint64_t factor = 1;

	while ((factor + 1) * (factor + 1) <= 10 * gib)
		factor++;
	return factor;
}

bool spare_memory_allows(const MemoryState *state, uint64_t kept_bytes)
{
	uint64_t left = state->total_bytes / LEFT_FRACTION;
	uint64_t old = less(state->inactive_bytes, kept_bytes);

	if (state->has_generations)
		return state->free_bytes > left + OWN_BYTES;

	old = less(old, state->unwritten_bytes);
	old = less(old, state->active_bytes / active_factor(state));
	return state->free_bytes + old > left;
}

bool spare_memory_is_there(uint64_t kept_bytes)
{
	g_autoptr(GArray) states = memory_states_read("/");

	if (!states || memory_state_pressure("/") > PRESSURE_MAX)
		return false;
	for (guint i = 0; i < states->len; i++)
		if (!spare_memory_allows(&g_array_index(states, MemoryState, i), kept_bytes))
			return false;

	return true;
}
