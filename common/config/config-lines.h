/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * ConfigLines - splits a file in systemd's format into [SECTION] and KEY=VALUE lines.  It skips comments (# or
 * ;) and empty lines.
 *
 * GKeyFile does not serve: it joins sections of one name, keeps only the last of keys of one name, and knows
 * no line numbers.
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
	char *name; /* the first word of a section, or the key; else the reason why the line is wrong */
	char *text; /* the rest of the section, without blanks before it, or the value; may be empty */
} ConfigLine;

typedef struct {
	const char *at;
	size_t length;
	unsigned number;
} ConfigLines;

/* @text is borrowed and needs no NUL at its end. */
ConfigLines config_lines_of(const char *text, size_t length);

/* False: there are no more lines.  The caller clears *ret. */
bool config_lines_next(ConfigLines *lines, ConfigLine *ret);

void config_line_clear(ConfigLine *line);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ConfigLine, config_line_clear)
