/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/*
 * NameText - escapes names of files and other foreign bytes for terminals and JSON.
 *
 * Printable UTF-8 stays.  Invalid UTF-8, control characters, and characters that change the direction or width
 * of text are escaped: \n, \t, \e, \xff.  A backslash is doubled, so the bytes can be restored.
 *
 * Thread: any.
 */
char *name_text(const void *bytes, size_t length);

/*
 * The bytes of the escaped @text: *ret_length bytes and a NUL.  Unnecessary escapes are accepted.  NULL: an
 * escape is invalid.
 */
char *name_text_bytes(const char *text, size_t *ret_length);
