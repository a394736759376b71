/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/file-reader.h"
#include "common/files/extent-refs.h"
#include "daemon/context/pass.h"

/*
 * ExtentFiles - files that reference data extents, opened by handle, in any subvolume.
 *
 * At most 128 recently used files stay open, and those whose data was fetched ahead.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExtentFiles ExtentFiles;

ExtentFiles *extent_files_new(Pass *pass);
void extent_files_free(ExtentFiles *files);

/* Whether the file is part of dedupd's own state, which is neither target nor source. */
bool extent_files_is_own(const ExtentFiles *files, const ExtentRef *ref);

/* Whether the file may be a source. */
bool extent_files_is_source(const ExtentFiles *files, const ExtentRef *ref);

/* The open file, valid until 127 others were asked for; NULL, with the reason, if it does not open. */
FileReader *extent_files_open(ExtentFiles *files, const ExtentRef *ref, SkipReason *ret_reason);

/* A range that was fetched ahead.  Its file stays open until it is released. */
typedef struct {
	struct OpenFile *file; /* NULL: nothing */
	uint64_t offset;
	uint64_t length;
} FetchedAhead;

/*
 * Hold the file open, and a range of it (file_reader_hold()); *ret: its reader.  NULL, if it does not open.  To be
 * released.
 */
FetchedAhead extent_files_hold(ExtentFiles *files, const ExtentRef *ref, uint64_t offset,
			       uint64_t length, FileReader **ret);

/* Start reading @length bytes at @offset of the file, if it opens.  To be released. */
FetchedAhead extent_files_fetch(ExtentFiles *files, const ExtentRef *ref, uint64_t offset,
				uint64_t length);
void extent_files_release(ExtentFiles *files, FetchedAhead *fetched);

/* Whether fetched ranges hold so many files that some should be released first. */
bool extent_files_is_full(const ExtentFiles *files);

/* Whether the file may be a target; *ret_reason: why not.  It may fail to open nevertheless. */
bool extent_files_is_target(const ExtentFiles *files, const ExtentRef *ref, SkipReason *ret_reason);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExtentFiles, extent_files_free)
