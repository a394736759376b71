/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/object-table.h"

/*
 * CachedFiles - files that were mostly in the page cache when the pass read them, because others use them.
 *
 * On XFS, a target loses its cached pages, so a cached file is better a source.  CachedFiles remembers at most 128
 * Ki files, for one pass.
 *
 * Thread: the filesystem's worker.
 */
typedef struct CachedFiles CachedFiles;

CachedFiles *cached_files_new(void);
void cached_files_free(CachedFiles *hot);

void cached_files_add(CachedFiles *hot, uint32_t object);

/* Tell @table which files they are (FACT_HOT), before it ranks any. */
void cached_files_tell(const CachedFiles *hot, ObjectTable *table);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CachedFiles, cached_files_free)
