/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/system/name-buffer.h"
#include "daemon/context/pass.h"
#include "daemon/inventory/walk.h"
#include "hashstore/anchors/sorter.h"

/*
 * Brings the directory names in the store up to date with a walk: it merges both in inode order and writes only
 * changes.
 *
 * Thread: the filesystem's worker.
 */
typedef struct {
	uint64_t subvolume;
	uint64_t inode;
	uint64_t parent_subvolume;
	uint64_t parent;
	uint64_t name_position; /* in the NameBuffer */
} DirectoryRecord;

int directory_record_compare(const void *a, const void *b);

/* @directories holds a DirectoryRecord for each directory of the finished @walk. */
bool directory_merge(Pass *pass, const Walk *walk, Sorter *directories, NameBuffer *names,
		     GError **error) G_GNUC_WARN_UNUSED_RESULT;
