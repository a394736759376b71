/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Properties of the terminal on standard output, or behind the pager.
 *
 * Thread: main.
 */

bool terminal_is(void);

/* A terminal that can move the cursor. */
bool terminal_moves_cursor(void);

/* Whether a page can be shown there, and a user can turn it. */
bool terminal_can_page(void);

/* Remember the terminal before standard output is redirected. */
void terminal_keep(void);

/* Make the terminal standard output again. */
void terminal_give_back(void);

/* Columns: of the terminal, or as $COLUMNS says, or 80; at least 20. */
unsigned terminal_width(void);

/* Lines: of the terminal, or 24; at least 2. */
unsigned terminal_height(void);

/* A terminal whose locale is UTF-8. */
bool terminal_takes_utf8(void);

/* A terminal with colours, which the user did not switch off (https://no-color.org). */
bool terminal_takes_colours(void);
