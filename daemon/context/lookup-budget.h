/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * LookupBudget - how much work a pass spends to find out where files lie.
 *
 * Each file has an allowance, which is enough for hundreds of names.  Beyond it, the file draws from a reserve that
 * all files of the pass share.  So a few files with very many names are looked up, and nobody can keep a pass busy
 * with such files.
 *
 * A unit is about a microsecond.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	uint64_t file_units;
	uint64_t reserve_units;
} LookupBudget;

#define LOOKUP_FILE_UNITS    UINT64_C(1024)
#define LOOKUP_RESERVE_UNITS UINT64_C(10000000)

/* A name that was read, and a search of a tree. */
#define LOOKUP_NAME_UNITS   1
#define LOOKUP_SEARCH_UNITS 3

/* Bytes of a path that are copied, or matched with one glob. */
#define LOOKUP_BYTES_PER_UNIT 64

#define LOOKUP_BUDGET_INIT                                                                         \
	{                                                                                          \
		LOOKUP_FILE_UNITS, LOOKUP_RESERVE_UNITS                                            \
	}

static inline void lookup_budget_begin_file(LookupBudget *budget)
{
	budget->file_units = LOOKUP_FILE_UNITS;
}

/* Take @units; false: nothing is left. */
static inline bool lookup_budget_take(LookupBudget *budget, uint64_t units)
{
	uint64_t from_file = units < budget->file_units ? units : budget->file_units;
	uint64_t rest = units - from_file;

	budget->file_units -= from_file;
	budget->reserve_units -= rest < budget->reserve_units ? rest : budget->reserve_units;
	return budget->file_units > 0 || budget->reserve_units > 0;
}
