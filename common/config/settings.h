/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/disk-settings.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Settings - the checked options of a pass.
 *
 * Set before a pass starts, never changed while it runs.  Thread: any.
 */
typedef enum {
	ZEROS_AUTO, /* holes, except in files that look thick-provisioned */
	ZEROS_HOLE,
	ZEROS_KEEP,
	ZEROS_SHARE, /* share them with each other: no hole appears */
} ZerosPolicy;

typedef enum {
	FIND_AUTO,      /* by checksums if possible */
	FIND_CHECKSUMS, /* by checksums; an error if impossible */
	FIND_READ,
} FindPolicy;

/* The files to read, if equal data is found by reading. */
typedef enum {
	READ_POLICY_ALL,
	READ_POLICY_SAME_SIZE, /* only files that may be identical to another one */
} ReadPolicy;

/* How files in read-only subvolumes and snapshots of btrfs are treated. */
typedef enum {
	SNAPSHOTS_AUTO,  /* share; if that costs too much, wait for their deletion */
	SNAPSHOTS_SHARE, /* share all references to an extent, or none */
	SNAPSHOTS_WRITABLE, /* share writable references only, and wait for the deletion of the others */
	SNAPSHOTS_SOURCE, /* share others with them; leave extents that they show */
	SNAPSHOTS_SKIP,
} SnapshotPolicy;

/* How files that are overwritten in place are treated.  Sharing makes their next write copy. */
typedef enum {
	NO_COW_SKIP,
	NO_COW_SHARE,
} NoCowPolicy;

/* How duplicates of compressed data on btrfs are found. */
typedef enum {
	COMPRESSED_SUMS, /* whole extents, by checksums of the compressed data */
	COMPRESSED_READ, /* by reading it */
} CompressedPolicy;

/* The remainders without duplicates to copy, so that btrfs frees their extents. */
typedef enum {
	REWRITE_AUTO,
	REWRITE_MORE,
	REWRITE_NEVER,
} RewritePolicy;

/* How files that were repeatedly found changed are treated. */
typedef enum {
	CHANGING_WAIT, /* read them ever more rarely: see RescanBackoff */
	CHANGING_READ,
} ChangingPolicy;

/* The trigger of passes. */
typedef enum {
	MODE_TIMER,
	MODE_RESIDENT,
} Mode;

/* Whether data is shared between files of different owners. */
typedef enum {
	ACROSS_OWNERS,
	WITHIN_OWNERS,
} OwnersPolicy;

/* Whether a configured filesystem is deduplicated if no path is given. */
typedef enum {
	ENABLE_YES,
	ENABLE_NO,
} EnablePolicy;

/* Whether a disk that has been idle for long is woken outside of windows. */
typedef enum {
	SLEEPING_RESPECT,
	SLEEPING_WAKE,
} SleepingPolicy;

/* Whether passes run on battery power, or on a degraded filesystem or disk. */
typedef enum {
	HARDSHIP_PAUSE,
	HARDSHIP_RUN,
} HardshipPolicy;

/* The priority of a pass for the processor and the disks. */
typedef enum {
	PRIORITY_NORMAL,
	PRIORITY_IDLE, /* after all other programs */
} PriorityPolicy;

typedef struct {
	char **paths; /* NULL-terminated, as given by the user */
	char *state_directory;
	char *fleet_key;       /* the file of FleetKey; NULL: none */
	char *metrics_file;    /* NULL: none */
	char *config;          /* the given file, or "none"; NULL: the standard files */
	char **excludes;       /* globs; NULL-terminated, may be NULL */
	char **patterns;       /* see IgnoreRules; NULL-terminated, may be NULL */
	GArray *windows;       /* TimeWindow: when a pass may run; NULL or empty: always */
	uint64_t memory_bytes; /* for sorting, over all sorters of a pass */
	/* Smaller files are skipped; SETTINGS_MIN_SIZE_UNSET: the default of the kind. */
	uint64_t min_size_bytes;
	uint64_t min_run_bytes; /* that an additional item of a file must free on average */
	/* SETTINGS_STORE_LIMIT_AUTO: derived from the filesystem. */
	uint64_t store_limit_bytes;
	uint64_t min_age_usec;   /* files that changed within it are left for a later pass */
	uint64_t run_for_usec;   /* the longest that a pass may take; 0: no limit */
	uint64_t rate_bytes;     /* per second and disk; 0: no limit */
	uint32_t rate_requests;  /* the same, in requests */
	uint32_t anchor_blocks;  /* 0: that of the store; of a new one AnchorShape */
	uint32_t window_anchors; /* the same */
	uint32_t threads;        /* that read and deduplicate; SETTINGS_THREADS_AUTO */
	uint32_t max_compare;    /* bytes compared per byte freed; SETTINGS_MAX_COMPARE_AUTO */
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
	uint64_t wake_bytes;         /* this much new data begins a pass at once */
	uint64_t wake_interval_usec; /* any change begins one this long after the last pass */
	SleepingPolicy sleeping;
	HardshipPolicy on_battery;
	HardshipPolicy degraded;
	PriorityPolicy priority;
	/* For all disks, instead of the configuration; PRESSURE_AUTO: as configured. */
	PressurePolicy pressure;
	RotatingPolicy rotating; /* the same */
	bool is_for_one_pass;    /* what it excludes stays in the store */
	bool has_given_limits;   /* limits on files from the command line: see OneOffLimits */
	/* Flags of the command line, where GLib writes them. */
	gboolean once;
	gboolean now;          /* ignore the windows */
	gboolean queue;        /* wait for other passes instead of failing */
	gboolean only_changed; /* skip a first pass, and work that is due now and then */
	gboolean dry_run;
	gboolean rebuild;
	gboolean json;
	gboolean quiet;
	gboolean verbose;
} Settings;

#define SETTINGS_MEMORY_BYTES     (UINT64_C(64) << 20)
#define SETTINGS_MIN_RUN_BYTES    (UINT64_C(64) << 10)
#define SETTINGS_MIN_SIZE_UNSET   UINT64_MAX
#define SETTINGS_STORE_LIMIT_AUTO UINT64_MAX
#define SETTINGS_ANCHORS_UNSET    0
#define SETTINGS_MAX_COMPARE_AUTO 0
#define SETTINGS_THREADS_AUTO     0

#define SETTINGS_MEMORY_MIN_BYTES   (UINT64_C(4) << 20)
#define SETTINGS_ANCHOR_BLOCKS_MAX  16
#define SETTINGS_MAX_COMPARE_MOST   1000000
#define SETTINGS_THREADS_MOST       64
#define SETTINGS_WINDOW_ANCHORS_MAX 64

void settings_clear(Settings *settings);

/* Add copies of the globs @more, which may be NULL. */
void settings_add_excludes(Settings *settings, char *const *more);

/* Settings that several owners share; they must come from settings_new(). */
Settings *settings_new(void);
Settings *settings_copy(const Settings *settings);
Settings *settings_ref(Settings *settings);
void settings_unref(Settings *settings);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Settings, settings_clear)
