/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/object-sums.h"
#include "common/disks/file-reader.h"
#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"
#include "daemon/inventory/read-list.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/file/file-attributes.h"

/*
 * FileJob - a file on its way through fingerprinting, from when it is opened.
 *
 * Thread: the filesystem's worker; readers borrow what is open.
 */

/* The knowledge of a file so far.  A half-read file has it in the store. */
typedef struct {
	uint64_t shared_bytes;
	uint64_t far_bytes; /* of data that no anchor can lie in */
	uint64_t stand;     /* as in Object */
	bool has_hole;
	bool has_unwritten;
	ObjectSums sums;
} Learned;

typedef struct {
	NamedFile file;
	char *name;
	uint32_t half_object;
	OpenOutcome outcome;
	FileReader *reader; /* NULL unless it was opened */
	Stamp stamp;
	int64_t seen_nsec; /* when the stamp was taken */
	FileAttributes attributes;
	uint64_t data_bytes; /* that use space, also if others share it */
	uint64_t room_bytes; /* taken for it in the store */
	bool has_no_room;    /* in the store */
	SkipReason no_room;  /* with has_no_room */
	uint32_t owner;      /* uid */
	bool is_immutable;
	bool is_foreign;
	bool has_checksums;
	bool is_plain;
	bool is_by_extents;
	bool is_whole;
	uint32_t changes; /* passes in a row that found it changed */
	uint64_t head;
	uint32_t object;          /* 0: not begun */
	uint64_t next_half_bytes; /* of the file: where to keep the state next */
	Learned learned;
	GQueue parts; /* FilePart, in the order of the file: see ReadAhead */
} FileJob;

#define FILE_JOB_HALF_BYTES (UINT64_C(1) << 30)

/* Open the file; the outcome says whether that was possible. */
FileJob *file_job_open(Pass *pass, FileOpener *opener, const ReadItem *item);
void file_job_free(FileJob *job);

/* Begin a new object, or go on with the half-read one. */
bool file_job_begin(FileJob *job, Pass *pass, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The row of the job's object, as far as it is known. */
Object file_job_row(const FileJob *job);

/* The present stamp of the file. */
bool file_job_stamp_now(const FileJob *job, Stamp *ret);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FileJob, file_job_free)
