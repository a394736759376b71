/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * ConfigLines - the lines of a file as systemd writes them: [SECTION] and KEY=VALUE; of comments
 * (# or ;) and empty lines nothing is told.
 *
 * GKeyFile is of no use here: it joins sections of one name, keeps the last of keys of one name, and
 * tells the line of neither.
 *
 * Pure.  Thread: any.
 */
typedef enum {
	CONFIG_LINE_SECTION,
	CONFIG_LINE_VALUE,
	CONFIG_LINE_WRONG,
} ConfigLineKind;

typedef struct {
	ConfigLineKind kind;
	unsigned number; /* from 1 */
	char *name;      /* of a section its first word, of a value its key; else what is wrong */
	char *text;      /* what follows in the section, after blanks, or the value; may be empty */
} ConfigLine;

typedef struct {
	const char *at;
	size_t length;
	unsigned number;
} ConfigLines;

/* @text is borrowed; it needs no NUL at its end. */
ConfigLines config_lines_of(const char *text, size_t length);

/* False: there are no more.  The caller clears *ret. */
bool config_lines_next(ConfigLines *lines, ConfigLine *ret);

void config_line_clear(ConfigLine *line);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ConfigLine, config_line_clear)
