/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/text/exit-status.h"

#include <glib.h>

/*
 * Messages of dedupctl on standard error, and escaping of texts for a terminal.  Each message is escaped.
 *
 * Thread: main.
 */
void message_print(const char *format, ...) G_GNUC_PRINTF(1, 2);
void message_print_error(const GError *error); /* of the configuration: all lines, separately */
void message_print_lines(const char *text);    /* each separately */

/* Print a message, and return @status: what a verb ends with. */
ExitStatus message_fail(ExitStatus status, const char *format, ...) G_GNUC_PRINTF(2, 3);
ExitStatus message_fail_error(const GError *error); /* returns EXIT_STATUS_FAILED */

/* Keep messages from now on, since another program uses the screen; and print them. */
void message_hold(void);
void message_release(void);

/*
 * Escape a text as a whole if a terminal should not see it, so that no store and no argument can move the
 * cursor.  An escaped text stays as it is.  Returns "" for NULL.
 */
char *message_text(const char *text);

/*
 * The same for text outside of tables.  If the locale is not UTF-8, bytes that are harmless only in UTF-8 are
 * escaped, too.
 */
char *message_terminal_text(const char *text);

/* The @n texts, each by message_text(), with @separator between them. */
char *message_join(const char *const *texts, size_t n, const char *separator);
