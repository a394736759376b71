/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Names of files and other bytes from outside, made fit for a terminal and for JSON.
 *
 * Printable UTF-8 stays as it is.  Everything else is escaped, bytes that are no UTF-8 as well as
 * control characters and those that change the direction or the width of text: \n, \t, \e, \xff; a
 * backslash is doubled, so the bytes can be had back.
 *
 * Thread: any.
 */
char *name_text(const void *bytes, size_t length);

/*
 * The bytes that @text says, escaped as above or more than needed, *ret_length of them and a NUL; NULL: it
 * has an escape that there is not.
 */
char *name_text_bytes(const char *text, size_t *ret_length);
