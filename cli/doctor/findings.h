/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * Findings - the results of the checks of the machine and its filesystems, in order.
 *
 * Texts are kept as given.  The caller escapes them for a terminal.
 *
 * Thread: one at a time.
 */
typedef enum {
	FINDING_OK,
	FINDING_NOTE,    /* worth knowing; nothing needs to be done */
	FINDING_WARNING, /* dedupd works, but could do better, or conflicts with something */
	FINDING_ERROR,   /* dedupd cannot work here */
} FindingLevel;

typedef struct {
	FindingLevel level;
	char *subject;     /* "machine", or a mount point */
	const char *check; /* the check, in one word */
	char *evidence;
	char *advice; /* what to do; NULL: nothing */
} Finding;

typedef struct Findings Findings;

Findings *findings_new(void);
void findings_free(Findings *findings);

/* Set the subject of the following findings; initially "machine". */
void findings_set_subject(Findings *findings, const char *subject);

/* @check must stay valid.  @advice may be NULL; @evidence is a format. */
void findings_add(Findings *findings, FindingLevel level, const char *check, const char *advice,
		  const char *evidence, ...) G_GNUC_PRINTF(5, 6);

/* All findings (Finding); owned by @findings. */
const GPtrArray *findings_all(const Findings *findings);

/* The worst level; FINDING_OK if there are no findings. */
FindingLevel findings_worst(const Findings *findings);

/* "ok", "note", "warning" or "error". */
const char *finding_level_name(FindingLevel level);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Findings, findings_free)
