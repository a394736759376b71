/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/* The order of two numbers, as for qsort().  Pure.  Thread: any. */
static inline int compare_uint64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}
