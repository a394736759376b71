/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/file-report.h"
#include "cli/settings/setting-text.h"
#include "common/config/settings.h"
#include "hashstore/objects/history.h"

/*
 * FileReasons - why the data of a file was not shared, or that it was.  Each reason has its bytes and its
 * evidence.
 *
 * Thread: main.
 */
typedef struct {
	const char *reason; /* a word, from docs/report.md if possible */
	char *evidence;     /* a sentence */
	uint64_t bytes;
	/* For pinned extents: the inputs of the sentence, until it is made. */
	uint32_t pin_cause;
	bool is_own_pin; /* the file itself pins them */
	uint64_t extents, extent_bytes, uncovered_bytes, places;
} FileReason;

/* The sources of the reasons, besides the file's report. */
typedef struct {
	HashStore *store;              /* or NULL */
	const PassRecord *last;        /* the last pass over the filesystem, or NULL */
	const Settings *settings;      /* configured for the filesystem */
	const SettingOrigins *origins; /* of these */
	const char *mount_point;       /* of the last pass */
	bool is_compressing;           /* the filesystem is mounted so */
} FileJudges;

/*
 * An array of FileReason: from the configuration, from the file's extents, and from the last pass.  Consumes
 * the extents of @report.
 */
GPtrArray *file_reasons_find(const NamedFile *file, FileReport *report, const FileJudges *judges,
			     GError **error);
