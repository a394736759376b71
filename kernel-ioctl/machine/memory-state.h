/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * MemoryState - how much memory is free, and how the page cache of files is split, of the machine or of a control group
 * that has a limit.
 *
 * Facts: the kernel keeps two lists of cached file pages.  A page that was used once is in the inactive list, and one
 * that was used again is in the active list.  Reclaim takes the oldest inactive pages.
 * (Documentation/admin-guide/mm/concepts.rst; mm/workingset.c)
 *
 * With the multi-generational LRU, a page that is read again stays in its generation, and gets into a higher tier.  Only
 * the two youngest generations are shown as active.  So pages in use are shown as inactive.
 * (Documentation/mm/multigen_lru.rst; lru_gen_is_active(), include/linux/mm_inline.h)
 *
 * Thread: any.
 */
typedef struct {
	uint64_t total_bytes;     /* of a group: its limit */
	uint64_t free_bytes;      /* of a group: what it may still take */
	uint64_t inactive_bytes;  /* of files */
	uint64_t active_bytes;    /* of files */
	uint64_t unwritten_bytes; /* dirty, or being written */
	bool has_generations;     /* the kernel uses the multi-generational LRU */
} MemoryState;

/* Parse the text of /proc/meminfo. */
bool memory_state_parse(const char *meminfo, MemoryState *ret);

/*
 * The states that bound this process: of the machine, and of each control group with a limit around it.  @root is "/",
 * except in tests.  NULL if the machine does not tell.
 */
GArray *memory_states_read(const char *root);

/* The share of the last 10 s in which a process waited for memory, in percent (PSI).  0 if the kernel does not tell. */
double memory_state_pressure(const char *root);
