/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/store-list.h"
#include "cli/client/daemon-client.h"
#include "cli/terminal/table.h"
#include "hashstore/objects/holders.h"
#include "hashstore/objects/pinned.h"

/*
 * FilesystemStatus - what the running service, the store, or both know of one filesystem.
 *
 * Thread: main.
 */
typedef struct {
	DaemonFilesystem *live; /* NULL: no service, or it does not know the filesystem */
	bool config_is_wrong;   /* see StatusList */

	char *uuid;
	char *kind;        /* NULL: not known */
	char *mount_point; /* now, or at its last pass; NULL: not known */

	bool has_last; /* the service or the store remembers a pass */
	int64_t last_started_usec;
	int64_t last_ended_usec;
	const char *last_outcome; /* owned by either */
	uint64_t last_freed_bytes;
	int64_t last_net_bytes; /* of it, net of metadata */
	bool has_last_net;      /* from the store */

	/* From its store, if that could be read. */
	bool has_store;
	char *store_path;
	uint64_t store_bytes, n_objects, anchor_blocks, window_anchors;
	PassTotals totals;
	HeldExtents deferred; /* what snapshots hold */
	PinnedSum pinned;
	HoldersSummary holders;
	Table *skipped; /* what its last pass skipped */
	bool has_stored_pass;
} FilesystemStatus;

/* Make a status from what the service says.  Consumes @live. */
FilesystemStatus *filesystem_status_new_take(DaemonFilesystem *live);

/* Make a status from a store; NULL: it cannot be read.  @entry is borrowed for the call. */
FilesystemStatus *filesystem_status_new_stored(const StoreEntry *entry, const Options *options,
					       GError **error);

/* Add what the store says to what the service says. */
bool filesystem_status_add_store(FilesystemStatus *status, const StoreEntry *entry,
				 const Options *options, GError **error) G_GNUC_WARN_UNUSED_RESULT;

void filesystem_status_free(FilesystemStatus *status);

/*
 * The problem of the filesystem, or the reason that it is not deduplicated; escaped for a terminal.
 * NULL: nothing is wrong.
 */
char *filesystem_status_trouble(const FilesystemStatus *status);

/*
 * Explain the state of a filesystem in words: the stage and progress of its pass, what it waits for, or what is
 * wrong.  Escaped for a terminal.
 */
char *filesystem_why_text(const DaemonFilesystem *filesystem);

/* The newest snapshot that holds deferred extents: its path, or its id; escaped for a terminal. */
char *filesystem_status_last_holder(const FilesystemStatus *status);

/* When the next pass begins, in microseconds since 1970. 0: time does not decide that. */
int64_t filesystem_status_next_usec(const FilesystemStatus *status);

/* Whether a pass runs over it. */
bool filesystem_status_is_running(const FilesystemStatus *status);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilesystemStatus, filesystem_status_free)
