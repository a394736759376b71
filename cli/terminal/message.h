/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * What dedupctl says on standard error, and texts from a store made fit for a terminal.
 *
 * Thread: main.
 */
void message_print(const char *format, ...) G_GNUC_PRINTF(1, 2);
void message_print_error(const GError *error); /* of the configuration all lines, each by itself */
void message_print_lines(const char *text);    /* each by itself */

/* Keep what is said from now on, as the screen is somebody else's; and say it. */
void message_hold(void);
void message_release(void);

/*
 * A text that was escaped before stays as it is; one that a terminal should not see is escaped as a
 * whole, so that no store and no argument can move the cursor.  "" for NULL.
 */
char *message_text(const char *text);

/*
 * The same for what is printed outside of tables: where the locale is not UTF-8, a byte that only
 * UTF-8 makes harmless is escaped too.
 */
char *message_terminal_text(const char *text);
