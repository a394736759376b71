/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/file-report.h"
#include "cli/settings/setting-text.h"
#include "common/config/settings.h"
#include "hashstore/objects/history.h"

/*
 * FileReasons - why the data of a file was not shared, or that it was: each reason with the bytes it is
 * true of, and with what tells so.
 *
 * Thread: main.
 */
typedef struct {
	const char *reason; /* a word, of docs/report.md where that has it */
	char *evidence;     /* a sentence */
	uint64_t bytes;
	/* Of extents that are pinned, until the sentence is made: what it has of them. */
	uint32_t pin_cause;
	bool is_own_pin; /* the file itself keeps them */
	uint64_t extents, extent_bytes, uncovered_bytes, places;
} FileReason;

/* What is held against the file besides its report. */
typedef struct {
	HashStore *store;              /* or NULL */
	const PassRecord *last;        /* pass over the filesystem, or NULL */
	const Settings *settings;      /* that are configured for it */
	const SettingOrigins *origins; /* of these */
	const char *mount_point;       /* of the last pass */
	bool is_compressing;           /* the filesystem is mounted so */
} FileJudges;

/* An array of FileReason, which takes the extents from @report: what is configured, what is true of its extents, what the last pass said. */
GPtrArray *file_reasons_find(const NamedFile *file, FileReport *report, const FileJudges *judges,
			     GError **error);
