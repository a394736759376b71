/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/sorter.h"

/*
 * FileReport - all about one file: where it lies, what it already shares, what equals it, and what sharing that
 * would free.  FileReporter makes it.
 *
 * Thread: main.
 */
typedef enum {
	FILE_NO_STORE, /* the filesystem has none, or it cannot be read */
	FILE_UNKNOWN,  /* the store does not have it */
	FILE_STALE,    /* it changed since */
	FILE_FRESH,    /* it was young when it was read, so the next pass reads it again */
	FILE_HALF,     /* only part of it was read */
	FILE_SKIPPED,  /* it was skipped */
	FILE_SEEN,     /* it was not read, since nothing could equal it */
	FILE_KNOWN,
} FileState;

const char *file_state_name(FileState state);

/* The maximum number of other files listed.  Further ones are only counted. */
#define FILE_REPORT_OTHERS 1000

#define FILE_REPORT_NOT_ASKED UINT64_MAX

typedef struct {
	uint64_t logical;
	uint64_t physical; /* if compressed, the beginning of the extent */
	uint64_t length;
	unsigned flags; /* PieceFlags */
	FileState state;
	uint64_t places; /* references to the extent, this one included, or FILE_REPORT_NOT_ASKED */
	uint64_t equals; /* number of other, equal extents */
	uint64_t elsewhere_bytes; /* referenced or equalled by other files, as far as was asked */
	uint64_t shared_bytes;    /* referenced by other files, or twice by this one */
	uint64_t others_bytes;    /* of these, referenced by other files, as far as was asked */
	uint64_t extent_bytes;    /* size of the whole extent on the disk; 0: not known */
	bool is_unsettled;        /* not yet matched with the whole store */
	bool has_differed;        /* data with equal checksums was found to differ */
	uint32_t skip_reason;     /* when FILE_SKIPPED: a SkipReason */
	const char *pinned;       /* the cause, or NULL */
	uint32_t pin_cause;       /* the same: a PinCause */
	/* The path of a file that pins it, or NULL; owned by the report. */
	const char *pinned_by;
	bool is_pinned_by_own;    /* pinned by the file itself */
	bool is_source;           /* others share its data, so it stays in any case */
	bool is_first;            /* the first piece of its extent in the file */
	uint64_t pin_places;      /* references to it, as far as they were counted */
	uint64_t uncovered_bytes; /* bytes of the extent without an equal */
} ReportedExtent;

typedef enum {
	OTHER_SHARES, /* it has the same data on the disk */
	OTHER_EQUALS, /* it has equal data elsewhere */
	OTHER_FRESH,  /* it had equal data, but was young then: the next pass reads it again */
	OTHER_STALE,  /* it had equal data, but changed since or is gone */
} OtherRelation;

const char *other_relation_name(OtherRelation relation);

typedef struct {
	OtherRelation relation;
	char *path;     /* as raw bytes; NULL: not known */
	uint64_t bytes; /* bytes of this file that it shares or equals */
} ReportedFile;

typedef struct {
	FileState state;
	bool is_version;         /* the store knows it as a file, not by its extents */
	FileState version_state; /* state of that version */
	bool has_equal_version;  /* another file equals all of it, and shares not all of it */
	bool is_unsettled;       /* see ReportedExtent; if is_version */
	uint32_t skip_reason;    /* likewise */
	uint64_t data_bytes;
	uint64_t n_extents;
	uint64_t shared_bytes;
	/* Shared data known only from FIEMAP: bytes that other files certainly reference. */
	uint64_t mapped_others_bytes;
	bool is_mapped; /* some data is known only from FIEMAP */
	/* On XFS: the filesystem reported who shares the file, as far as was asked. */
	bool has_sharers;
	bool has_more_sharers;    /* more than are listed, since not all was asked */
	uint64_t equal_bytes;     /* equal data that also lies elsewhere */
	uint64_t elsewhere_bytes; /* that other files have, too; without doubtful data */
	uint64_t would_free_bytes;
	uint64_t pinned_bytes;
	uint64_t deferred_bytes; /* in extents that read-only snapshots hold */
	uint64_t n_others;
	bool is_in_use;  /* a pass runs on the filesystem, so references were not asked for */
	Sorter *extents; /* ReportedExtent */
	GStringChunk *names;
	GArray *others; /* ReportedFile */
} FileReport;

/* An empty report, which the caller fills. */
FileReport *file_report_new(void);

void file_report_free(FileReport *report);

/* The next extent, in the order of the file; NULL at the end.  Valid until the next call. */
bool file_report_next(FileReport *report, const ReportedExtent **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Count another file, and list it if there is room.  For makers of reports.  Consumes @path. */
void file_report_add_other_take(FileReport *report, OtherRelation relation, char *path,
				uint64_t bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileReport, file_report_free)
