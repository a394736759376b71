/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Settings - what the user asked for, checked.
 *
 * Set before a pass starts, never changed while it runs.  Thread: any.
 */
typedef enum {
	ZEROS_AUTO, /* holes, but not in what looks thick-provisioned */
	ZEROS_HOLE,
	ZEROS_KEEP,
} ZerosPolicy;

typedef enum {
	FIND_AUTO,      /* by checksums where that is possible */
	FIND_CHECKSUMS, /* an error where it is not */
	FIND_READ,
} FindPolicy;

/* What becomes of files in read-only subvolumes and snapshots of a btrfs. */
typedef enum {
	SNAPSHOTS_SHARE,
	SNAPSHOTS_SOURCE, /* others are shared with them, nothing onto them */
	SNAPSHOTS_SKIP,
} SnapshotPolicy;

/* What becomes of files that are overwritten in place: shared, their next write is not. */
typedef enum {
	NO_COW_SKIP,
	NO_COW_SHARE,
} NoCowPolicy;

/* How data is found that is equal to, or in, what lies compressed on a btrfs. */
typedef enum {
	COMPRESSED_SUMS, /* by the checksums of what lies on the disk: whole extents */
	COMPRESSED_READ, /* by reading it */
} CompressedPolicy;

/* Whether a small rest of an extent, that nothing equals, is copied so that the extent is freed. */
typedef enum {
	REWRITE_AUTO,
	REWRITE_NEVER,
} RewritePolicy;

typedef struct {
	char **paths; /* NULL-terminated, as the user gave them */
	char *state_directory;
	char **excludes;       /* globs; NULL-terminated, may be NULL */
	uint64_t memory_bytes; /* for sorting, over all sorters of a pass */
	uint64_t
		min_size_bytes; /* smaller files are left alone; SETTINGS_MIN_SIZE_UNSET: by kind */
	uint64_t min_run_bytes; /* that an item more in a file frees on average */
	uint64_t rate_bytes;    /* per second, for all reads of data; 0: no limit */
	uint32_t anchor_blocks;
	uint32_t window_anchors;
	ZerosPolicy zeros;
	FindPolicy find;
	SnapshotPolicy read_only_snapshots;
	NoCowPolicy no_data_cow;
	CompressedPolicy compressed;
	RewritePolicy rewrite;
	bool once;
	bool dry_run;
	bool rebuild;
	bool json;
	bool quiet;
	bool verbose;
} Settings;

#define SETTINGS_MEMORY_BYTES   (UINT64_C(64) << 20)
#define SETTINGS_MIN_RUN_BYTES  (UINT64_C(64) << 10)
#define SETTINGS_MIN_SIZE_UNSET UINT64_MAX
#define SETTINGS_ANCHOR_BLOCKS  4
#define SETTINGS_WINDOW_ANCHORS 16

void settings_clear(Settings *settings);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Settings, settings_clear)
