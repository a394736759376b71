/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/file-report.h"
#include "cli/files/file-rules.h"

/*
 * EqualChoice - which of the files that equal one is to be named, and what keeps them apart.
 *
 * Thread: main.
 */
typedef enum {
	EQUAL_LEFT,     /* nothing that is seen here */
	EQUAL_EXCLUDED, /* all of them are excluded by the configuration */
	EQUAL_FOREIGN,  /* those that are not are of other users */
} EqualCause;

typedef struct {
	EqualCause cause;
	const char *path;    /* the report's; NULL: no name is known */
	const char *pattern; /* that excludes it, borrowed */
} EqualChoice;

EqualChoice equal_choice_make(const FileReport *report, const NamedFile *file,
			      const FileRules *rules);
