/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * What standard output is, and may be sent; with a pager before it, what that shows it on.
 *
 * Thread: main.
 */

bool terminal_is(void);

/* One that can do more than print lines. */
bool terminal_moves_cursor(void);

/* Whether a page can be shown there, and somebody can turn it. */
bool terminal_can_page(void);

/* Remember the terminal, as standard output is about to be something else. */
void terminal_keep(void);

/* Have it be standard output again. */
void terminal_give_back(void);

/* Columns: of the terminal, or as $COLUMNS says, or 80; at least 20. */
unsigned terminal_width(void);

/* Lines: of the terminal, or 24; at least 2. */
unsigned terminal_height(void);

/* A terminal whose locale is UTF-8. */
bool terminal_takes_utf8(void);

/* A terminal that knows colours, and nobody asked for none (https://no-color.org). */
bool terminal_takes_colours(void);
