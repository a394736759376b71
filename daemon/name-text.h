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

/* The bytes of which @text is the name_text(), *ret_length of them and a NUL; NULL: of none. */
char *name_text_bytes(const char *text, size_t *ret_length);
