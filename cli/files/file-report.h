/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/sorter.h"

/*
 * FileReport - what can be said of one file: where it lies, what it shares already, what equals it,
 * and what sharing that would free.  FileReporter makes it.
 *
 * Thread: main.
 */
typedef enum {
	FILE_NO_STORE, /* there is none of the filesystem, or it cannot be read */
	FILE_UNKNOWN,  /* the store does not have it */
	FILE_STALE,    /* it changed since */
	FILE_FRESH,    /* it was young when it was read, so that the next pass reads it again */
	FILE_HALF,     /* a part of it was read */
	FILE_SKIPPED,  /* it was left alone */
	FILE_SEEN,     /* it was not read, as nothing could equal it */
	FILE_KNOWN,
} FileState;

const char *file_state_name(FileState state);

/* So many other files are listed; the rest is counted. */
#define FILE_REPORT_OTHERS 1000

#define FILE_REPORT_NOT_ASKED UINT64_MAX

typedef struct {
	uint64_t logical;
	uint64_t physical; /* of a compressed one, where it begins */
	uint64_t length;
	unsigned flags; /* PieceFlags */
	FileState state;
	uint64_t places; /* that show the extent, this one included; FILE_REPORT_NOT_ASKED */
	uint64_t equals; /* other extents that equal it */
	uint64_t elsewhere_bytes; /* that other files show or equal, as far as was asked */
	uint64_t shared_bytes;    /* that other files show, or this one in two places */
	uint64_t others_bytes;    /* of these, that other files show, as far as was asked */
	uint64_t extent_bytes;    /* that the whole extent takes on the disk; 0: not known */
	bool is_unsettled;        /* not matched with all that is known yet */
	bool has_differed;    /* of what has its checksums something was found to be different */
	uint32_t skip_reason; /* when FILE_SKIPPED: a SkipReason */
	const char *pinned;   /* the cause, or NULL */
	uint32_t pin_cause;   /* the same: a PinCause */
	/* The path of a file that keeps it, or NULL; the report's. */
	const char *pinned_by;
	bool is_pinned_by_own;    /* that is the file itself */
	bool is_source;           /* others are shared with it, which keeps it in any case */
	bool is_first;            /* of the pieces of its extent that the file shows */
	uint64_t pin_places;      /* that show it, as far as they were counted */
	uint64_t uncovered_bytes; /* of the extent, that nothing else has */
} ReportedExtent;

typedef enum {
	OTHER_SHARES, /* it has the same data on the disk */
	OTHER_EQUALS, /* it has equal data elsewhere */
	OTHER_FRESH,  /* it had, and was young then, so that the next pass reads it again */
	OTHER_STALE,  /* it had, and changed since or is gone */
} OtherRelation;

const char *other_relation_name(OtherRelation relation);

typedef struct {
	OtherRelation relation;
	char *path;     /* as raw bytes; NULL: not known */
	uint64_t bytes; /* of this file, that it shares or equals */
} ReportedFile;

typedef struct {
	FileState state;
	bool is_version;         /* the store knows it as a file, not by its extents */
	FileState version_state; /* of that */
	bool has_equal_version;  /* another file equals it as a whole, and does not share all */
	bool is_unsettled;       /* as of an extent, when it is */
	uint32_t skip_reason;    /* likewise */
	uint64_t data_bytes;
	uint64_t n_extents;
	uint64_t shared_bytes;
	/* Of shared data that only FIEMAP tells: what other files show for certain. */
	uint64_t mapped_others_bytes;
	bool is_mapped; /* there is some of which only that tells */
	/* Of a file of an XFS the filesystem told who shares it, as far as was asked. */
	bool has_sharers;
	bool has_more_sharers;    /* than are listed, as not all was asked */
	uint64_t equal_bytes;     /* that lie elsewhere, too */
	uint64_t elsewhere_bytes; /* that other files have, too; what is in doubt they have not */
	uint64_t would_free_bytes;
	uint64_t pinned_bytes;
	uint64_t deferred_bytes; /* of extents that read-only snapshots hold */
	uint64_t n_others;
	bool is_in_use;  /* a pass works on the filesystem: who shows extents was not asked */
	Sorter *extents; /* ReportedExtent */
	GStringChunk *names;
	GArray *others; /* ReportedFile */
} FileReport;

/* Empty: who makes it fills it. */
FileReport *file_report_new(void);

void file_report_free(FileReport *report);

/* The next extent, in the order of the file; NULL at the end.  Valid until the next call. */
bool file_report_next(FileReport *report, const ReportedExtent **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* For who makes one: count another file, and list it if there is room; consumes @path. */
void file_report_add_other_take(FileReport *report, OtherRelation relation, char *path,
				uint64_t bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileReport, file_report_free)
