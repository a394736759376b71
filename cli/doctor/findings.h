/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * Findings - what a look at the machine and its filesystems brought up, in the order in which it did.
 *
 * Texts are kept as they were given: who prints them makes them fit for a terminal.
 *
 * Thread: one at a time.
 */
typedef enum {
	FINDING_OK,
	FINDING_NOTE,    /* worth knowing; nothing needs to be done */
	FINDING_WARNING, /* dedupd works, and would do better, or is at odds with something */
	FINDING_ERROR,   /* dedupd cannot work here */
} FindingLevel;

typedef struct {
	FindingLevel level;
	char *subject;     /* what was looked at: "machine", or a mount point */
	const char *check; /* what it was looked at for, in one word */
	char *evidence;
	char *advice; /* what to do; NULL: nothing */
} Finding;

typedef struct Findings Findings;

Findings *findings_new(void);
void findings_free(Findings *findings);

/* What the next ones are about; "machine" at first. */
void findings_set_subject(Findings *findings, const char *subject);

/* @check is borrowed for good.  @advice may be NULL; @evidence is a format. */
void findings_add(Findings *findings, FindingLevel level, const char *check, const char *advice,
		  const char *evidence, ...) G_GNUC_PRINTF(5, 6);

/* All of them (Finding); the list's. */
const GPtrArray *findings_all(const Findings *findings);

/* The worst level there is; FINDING_OK where there is none. */
FindingLevel findings_worst(const Findings *findings);

/* "ok", "note", "warning" or "error". */
const char *finding_level_name(FindingLevel level);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Findings, findings_free)
