/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/files/file-report.h"
#include "cli/files/file-rules.h"

/*
 * EqualChoice - chooses which of a file's equals to name, and why they do not share data.
 *
 * Thread: main.
 */
typedef enum {
	EQUAL_LEFT,     /* no cause found here */
	EQUAL_EXCLUDED, /* all of them are excluded by the configuration */
	EQUAL_FOREIGN,  /* those not excluded belong to other users */
} EqualCause;

typedef struct {
	EqualCause cause;
	const char *path;    /* owned by the report; NULL: no name is known */
	const char *pattern; /* that excludes it, borrowed */
} EqualChoice;

EqualChoice equal_choice_make(const FileReport *report, const NamedFile *file,
			      const FileRules *rules);
