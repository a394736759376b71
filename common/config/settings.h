/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/disk-settings.h"

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
	ZEROS_SHARE, /* with each other: no hole appears */
} ZerosPolicy;

typedef enum {
	FIND_AUTO,      /* by checksums where that is possible */
	FIND_CHECKSUMS, /* an error where it is not */
	FIND_READ,
} FindPolicy;

/* Which files are read where equal data is found by reading. */
typedef enum {
	READ_POLICY_ALL,
	READ_POLICY_SAME_SIZE, /* those that may be identical to others */
} ReadPolicy;

/* What becomes of files in read-only subvolumes and snapshots of a btrfs. */
typedef enum {
	SNAPSHOTS_AUTO,     /* shared; where that costs too much, left to their deletion */
	SNAPSHOTS_SHARE,    /* shared, or nothing that they show is */
	SNAPSHOTS_WRITABLE, /* left to their deletion: writable places are shared, others are not */
	SNAPSHOTS_SOURCE,   /* others are shared with them, nothing that they show onto others */
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

/* What becomes of files that were found changed time and again. */
typedef enum {
	CHANGING_WAIT, /* they are read ever more rarely: see RescanBackoff */
	CHANGING_READ,
} ChangingPolicy;

/* Who has passes begin. */
typedef enum {
	MODE_TIMER,
	MODE_RESIDENT,
} Mode;

/* Whether data is shared between files of different owners. */
typedef enum {
	ACROSS_OWNERS,
	WITHIN_OWNERS,
} OwnersPolicy;

/* Whether a filesystem that the configuration names is worked on when no path is given. */
typedef enum {
	ENABLE_YES,
	ENABLE_NO,
} EnablePolicy;

/* Whether a disk that has been idle for long is woken outside of windows. */
typedef enum {
	SLEEPING_RESPECT,
	SLEEPING_WAKE,
} SleepingPolicy;

/* What becomes of passes while the machine is on battery, or a filesystem or its disks are degraded. */
typedef enum {
	HARDSHIP_PAUSE,
	HARDSHIP_RUN,
} HardshipPolicy;

/* Which of those who want the processor, or a disk at the same moment, come first. */
typedef enum {
	PRIORITY_NORMAL,
	PRIORITY_IDLE, /* everybody else */
} PriorityPolicy;

typedef struct {
	char **paths; /* NULL-terminated, as the user gave them */
	char *state_directory;
	char *config;          /* the file that was asked for, or "none"; NULL: the usual ones */
	char **excludes;       /* globs; NULL-terminated, may be NULL */
	char **patterns;       /* see IgnoreRules; NULL-terminated, may be NULL */
	GArray *windows;       /* TimeWindow: when a pass may run; NULL or empty: always */
	uint64_t memory_bytes; /* for sorting, over all sorters of a pass */
	uint64_t
		min_size_bytes; /* smaller files are left alone; SETTINGS_MIN_SIZE_UNSET: by kind */
	uint64_t min_run_bytes; /* that an item more in a file frees on average */
	uint64_t store_limit_bytes; /* of the store; SETTINGS_STORE_LIMIT_AUTO: by the filesystem */
	uint64_t min_age_usec;      /* files that changed since are left for a later pass */
	uint64_t run_for_usec;      /* the longest that a pass may take; 0: no limit */
	uint64_t rate_bytes;        /* per second, that a disk is asked for; 0: no limit */
	uint64_t rate_requests;     /* the same, in requests */
	uint32_t anchor_blocks;     /* 0: as the store has it, of a new one by AnchorShape */
	uint32_t window_anchors;    /* the same */
	uint32_t max_compare;       /* bytes compared per byte freed; SETTINGS_MAX_COMPARE_AUTO */
	ZerosPolicy zeros;
	FindPolicy find;
	ReadPolicy read;
	SnapshotPolicy read_only_snapshots;
	NoCowPolicy no_data_cow;
	CompressedPolicy compressed;
	RewritePolicy rewrite;
	OwnersPolicy across_owners;
	ChangingPolicy changing;
	EnablePolicy enable;
	Mode mode;
	uint64_t wake_bytes;         /* so much new data is worth a pass at once */
	uint64_t wake_interval_usec; /* any change is, so long after the last one */
	SleepingPolicy sleeping;
	HardshipPolicy on_battery;
	HardshipPolicy degraded;
	PriorityPolicy priority;
	PressurePolicy
		pressure; /* of all disks, whatever is configured; PRESSURE_AUTO: as that is */
	RotatingPolicy rotating; /* the same */
	bool once;
	bool now;          /* whatever the windows */
	bool queue;        /* wait for others, instead of failing */
	bool only_changed; /* make no first pass, and nothing that is due now and then */
	bool dry_run;
	bool is_for_one_pass; /* what it leaves out is not forgotten */
	bool has_given_limits; /* of a command line, on which files are looked at: see OneOffLimits */
	bool rebuild;
	bool json;
	bool quiet;
	bool verbose;
} Settings;

#define SETTINGS_MEMORY_BYTES     (UINT64_C(64) << 20)
#define SETTINGS_MIN_RUN_BYTES    (UINT64_C(64) << 10)
#define SETTINGS_MIN_SIZE_UNSET   UINT64_MAX
#define SETTINGS_STORE_LIMIT_AUTO UINT64_MAX
#define SETTINGS_ANCHORS_UNSET    0
#define SETTINGS_MAX_COMPARE_AUTO 0

#define SETTINGS_MEMORY_MIN_BYTES   (UINT64_C(4) << 20)
#define SETTINGS_ANCHOR_BLOCKS_MAX  16
#define SETTINGS_MAX_COMPARE_MOST   1000000
#define SETTINGS_WINDOW_ANCHORS_MAX 64

void settings_clear(Settings *settings);

/* Settings that several share; these have to come from settings_new(). */
Settings *settings_new(void);
Settings *settings_copy(const Settings *settings);
Settings *settings_ref(Settings *settings);
void settings_unref(Settings *settings);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Settings, settings_clear)
