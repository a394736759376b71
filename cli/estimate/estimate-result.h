/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/sample-bounds.h"
#include "common/config/settings.h"
#include "common/disks/throttle.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <stdatomic.h>

/*
 * EstimateTask and Estimate - the request for an estimate, and its result.
 *
 * Thread: main.
 */
#define ESTIMATE_BLOCK_SIZES 5

extern const uint64_t estimate_block_bytes[ESTIMATE_BLOCK_SIZES];

/* The request. */
typedef struct {
	const char *const *paths; /* directories of one filesystem; NULL-terminated */
	const char *mount_point;
	FsIdentity identity;
	int fd; /* any directory of it */
	const Settings *settings;
	char *const *words;    /* options for dedupd, as on its command line; NULL-terminated */
	const char *directory; /* for temporary files */
	double fraction;       /* of the data that is to be read; 1: all of it */
	uint64_t seed;         /* chooses that part */
	const atomic_bool *stop;
	Throttle *throttle; /* what all reads are paid for with */
} EstimateTask;

/* Pay for what was read so far, which may sleep.  Returns whether the estimate goes on; every long loop calls this. */
bool estimate_goes_on(const EstimateTask *task) G_GNUC_WARN_UNUSED_RESULT;

/* Whether equal data is found by checksums: it is a btrfs filesystem whose trees can be read. */
bool estimate_is_by_checksums(const EstimateTask *task);

typedef struct {
	bool by_checksums;
	double fraction; /* 1: no sampling */
	uint64_t n_files;
	uint64_t n_left_out; /* too small, or excluded */
	uint64_t n_unreadable;
	char *unreadable;      /* the first of these, and why; NULL: there is none */
	uint64_t data_bytes;   /* on the disk, each block counted once */
	uint64_t shared_bytes; /* further references to these, which take no space */
	uint64_t read_bytes;   /* by the estimate: of files, or of checksums */
	int64_t usec;          /* duration of reading */
	/* From a dry run; without one, all but the store are 0: */
	uint64_t deferred_bytes;         /* freed when read-only snapshots are deleted */
	uint64_t deferred_written_bytes; /* written to free these */
	uint64_t n_runs;                 /* extent items that a pass adds to files */
	uint64_t store_bytes;
	Bounded pass; /* including zeros that become holes */
	Bounded zeros;
	Bounded identical;
	Bounded blocks[ESTIMATE_BLOCK_SIZES];
} Estimate;

void estimate_clear(Estimate *estimate);

/* Count another file or directory that could not be read; @why names it. */
void estimate_add_unreadable(Estimate *estimate, const char *why);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Estimate, estimate_clear)
