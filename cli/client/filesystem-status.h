/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/store-list.h"
#include "cli/client/daemon-client.h"
#include "cli/terminal/table.h"
#include "hashstore/objects/holders.h"
#include "hashstore/objects/pinned.h"

/*
 * FilesystemStatus - what is known of one filesystem: by the running service, by its store, or by both.
 *
 * Thread: main.
 */
typedef struct {
	DaemonFilesystem *live; /* NULL: there is no service, or it does not know it */
	bool config_is_wrong;   /* see configuration_is_wrong() */

	char *uuid;
	char *kind;        /* NULL: not known */
	char *mount_point; /* now, or at its last pass; NULL: not known */

	bool has_last; /* a pass is remembered, by either */
	int64_t last_started_usec;
	int64_t last_ended_usec;
	const char *last_outcome; /* owned by either */
	uint64_t last_freed_bytes;
	int64_t last_net_bytes; /* of it, net of metadata */
	bool has_last_net;      /* the store tells */

	/* Of its store, if that could be read. */
	bool has_store;
	char *store_path;
	uint64_t store_bytes, n_objects, anchor_blocks, window_anchors;
	PassTotals totals;
	HeldExtents deferred; /* what snapshots hold */
	PinnedSum pinned;
	HoldersSummary holders;
	Table *skipped; /* what its last pass left alone */
	bool has_stored_pass;
} FilesystemStatus;

/* What the service says; @live is taken. */
FilesystemStatus *filesystem_status_new_take(DaemonFilesystem *live);

/* What a store says; NULL: it cannot be read.  @entry is borrowed for the call. */
FilesystemStatus *filesystem_status_new_stored(const StoreEntry *entry, const Options *options,
					       GError **error);

/* Add what its store says to what the service does. */
bool filesystem_status_add_store(FilesystemStatus *status, const StoreEntry *entry,
				 const Options *options, GError **error) G_GNUC_WARN_UNUSED_RESULT;

void filesystem_status_free(FilesystemStatus *status);

/* What is wrong with it, and why nothing is done, fit for a terminal; NULL: nothing. */
char *filesystem_status_trouble(const FilesystemStatus *status);

/* The newest of the snapshots that hold something: its path, or its id; fit for a terminal. */
char *filesystem_status_last_holder(const FilesystemStatus *status);

/* When the next pass begins, as far as time decides that, since 1970; 0: it does not. */
int64_t filesystem_status_next_usec(const FilesystemStatus *status);

/* Whether a pass runs over it. */
bool filesystem_status_is_running(const FilesystemStatus *status);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FilesystemStatus, filesystem_status_free)
