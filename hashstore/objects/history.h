/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/*
 * History - the results of each pass, and what it skipped.
 *
 * Thread: the filesystem's worker; any for a store opened to read.
 */
typedef enum {
	PASS_COMPLETE,
	PASS_INTERRUPTED, /* asked to stop, or prevented from continuing */
	PASS_FAILED,
} PassOutcome;

/* "complete", "interrupted" or "failed"; "unknown" for an outcome of a newer version. */
const char *pass_outcome_name(PassOutcome outcome);

typedef struct {
	int64_t id;           /* assigned by hash_store_put_pass() */
	int64_t started_usec; /* since 1970 */
	int64_t ended_usec;
	PassOutcome outcome;
	char *mount_point; /* owned by the record */
	/* Counts of this pass. */
	uint64_t files;   /* seen by the walk; if has_extents: extents, and files that were read */
	bool has_extents; /* found by checksums */
	uint64_t objects_read;  /* fingerprinted */
	uint64_t finding_bytes; /* read to fingerprint */
	uint64_t compare_bytes; /* read to compare, both sides */
	uint64_t wasted_bytes;  /* of these, by calls that found a difference; only in the totals */
	uint64_t shared_bytes;  /* logical bytes of targets that now share */
	uint64_t freed_bytes;   /* physical bytes that no file uses any more */
	uint64_t hole_bytes;    /* part of freed_bytes: zeros that became holes */
	uint64_t runs_shared;
	uint64_t runs_differed; /* the kernel found different */
	uint64_t capped;        /* members of groups beyond the cap */
	/* For extents of btrfs; else 0. */
	uint64_t pinned_bytes;    /* have duplicates and stay, since sharing would free nothing */
	uint64_t rewritten_bytes; /* written so that other extents could be freed */
	int64_t metadata_delta_bytes; /* by the filesystem's count */
	bool is_checked;              /* freed_bytes was compared with the filesystem's count */
	int64_t drift_bytes;          /* freed by the filesystem's count, beyond freed_bytes */
	uint64_t deferred_bytes;      /* to be freed when snapshots are deleted: new in this pass */
	uint64_t released_bytes;      /* earlier deferred bytes freed since the previous pass */
	/* The part of rewritten_bytes for deferred extents; not subtracted from freed_bytes. */
	uint64_t deferred_written_bytes;
	int64_t net_bytes;   /* freed_bytes net of metadata: docs/quantities.md */
	bool has_net;        /* net_bytes is known */
	uint64_t used_bytes; /* by data at the end, by the filesystem's count; 0: not known */
} PassRecord;

void pass_record_clear(PassRecord *record);

bool hash_store_put_pass(HashStore *store, PassRecord *record, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Drop passes that ended before @usec, except from the totals. */
bool hash_store_drop_passes_before(HashStore *store, int64_t usec, uint64_t *ret_n, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

typedef struct PassCursor PassCursor;

/* Newest first. */
PassCursor *pass_cursor_open(HashStore *store, GError **error);
bool pass_cursor_next(PassCursor *cursor, const PassRecord **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void pass_cursor_close(PassCursor *cursor);

/* Totals over all passes. */
typedef struct {
	uint64_t passes;
	uint64_t interrupted, failed; /* of these */
	uint64_t freed_bytes;
	uint64_t finding_bytes;
	uint64_t compare_bytes;
	uint64_t wasted_bytes;
} PassTotals;

bool hash_store_pass_totals(HashStore *store, PassTotals *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The data that the last pass skipped for one reason.  Each pass replaces all records. */
typedef struct {
	const char *reason; /* a word such as "leased" */
	uint64_t count;
	uint64_t bytes;
	const char *const *examples; /* paths, escaped for a terminal; NULL-terminated */
} SkipRecord;

bool hash_store_clear_skips(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_put_skip(HashStore *store, const SkipRecord *skip, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

typedef struct SkipCursor SkipCursor;

/* By bytes, largest first. */
SkipCursor *skip_cursor_open(HashStore *store, GError **error);
bool skip_cursor_next(SkipCursor *cursor, const SkipRecord **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void skip_cursor_close(SkipCursor *cursor);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PassRecord, pass_record_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PassCursor, pass_cursor_close)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SkipCursor, skip_cursor_close)
