/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * CompareAccount - how much a pass may compare for what it frees.
 *
 * To free a block of which k references exist, k references are compared with the source.  An ordinary
 * user makes references at no cost, so the pass weighs the bytes that it compares, on both sides,
 * against the bytes that it frees.  The slack pays for small cases and for estimates that prove wrong.
 *
 * A plain value.  Thread: one at a time.
 */

/* Bytes that a pass may compare beyond MaxCompare= times those that it frees. */
#define COMPARE_SLACK_BYTES (UINT64_C(128) << 20)

typedef struct {
	uint64_t factor; /* MaxCompare=: bytes that may be compared per byte freed */
	uint64_t compared_bytes;
	uint64_t gained_bytes;
} CompareAccount;

/* Whether the pass may compare @cost_bytes in order to free @gain_bytes. */
bool compare_account_allows(const CompareAccount *account, uint64_t cost_bytes,
			    uint64_t gain_bytes);

/* Whether half of the slack is spent: the pass should compare nothing that it does not expect to free. */
bool compare_account_is_low(const CompareAccount *account);

/* A block with more references is not freed: it would cost more than it may, or the slack is better spent on others. */
size_t compare_account_most_references(const CompareAccount *account);

/*
 * The bytes to compare in order to redirect @n_references references to @bytes.  The source is read once: it stays
 * in the page cache from one reference to the next.  A hole is not read.
 */
uint64_t compare_account_cost(uint64_t bytes, uint64_t n_references, bool is_hole);
