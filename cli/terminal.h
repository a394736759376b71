/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * What standard output is, and may be sent.
 *
 * Thread: main.
 */

/* Columns: of the terminal, or as $COLUMNS says, or 80; at least 20. */
unsigned terminal_width(void);

/* Lines: of the terminal, or 24; at least 2. */
unsigned terminal_height(void);

/* A terminal whose locale is UTF-8. */
bool terminal_takes_utf8(void);

/* A terminal that knows colours, and nobody asked for none (https://no-color.org). */
bool terminal_takes_colours(void);
