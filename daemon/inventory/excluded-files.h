/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/files/skip.h"
#include "daemon/context/filesystem.h"
#include "kernel-ioctl/file/file-stat.h"

/*
 * ExcludedFiles - files of XFS that no pass looks at although their inodes do not tell it: those in the state
 * directory, and in the running system's /boot and /efi.
 *
 * A file is one of them if all its names are there.  These directories are small; one with more than
 * EXCLUDED_FILES_MAX names is not listed.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ExcludedFiles ExcludedFiles;

#define EXCLUDED_FILES_MAX 65536

/*
 * NULL: there are too many.  Boot directories that the pass has as roots are not excluded.  All arguments are
 * borrowed.
 */
ExcludedFiles *excluded_files_new(const Filesystem *filesystem, int state_fd);
void excluded_files_free(ExcludedFiles *left_out);

bool excluded_files_has(const ExcludedFiles *left_out, uint64_t inode, uint32_t nlink);

/* The excluded directories, with the reason; NULL: there are no more. */
typedef struct {
	uint64_t inode;
	SkipReason reason;
} LeftOutDirectory;

const LeftOutDirectory *excluded_files_directory(const ExcludedFiles *left_out, size_t number);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExcludedFiles, excluded_files_free)
