/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A number as a horizontal bar in a line of a table.  @largest takes all @width columns, and every nonzero
 * value is visible.  The bar is drawn in eighths of a column with @utf8, else in '#'.  To be freed with
 * g_free().
 *
 * Pure.  Thread: any.
 */
char *bar_text(uint64_t value, uint64_t largest, unsigned width, bool utf8);
