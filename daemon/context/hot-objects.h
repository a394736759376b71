/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/object-table.h"

/*
 * HotObjects - files that were mostly in the page cache when the pass read them, for others to use.
 *
 * What is shared onto loses its cached pages on XFS, so a hot file is better a source.  At most 128 Ki
 * of them are remembered, for one pass.
 *
 * Thread: the filesystem's worker.
 */
typedef struct HotObjects HotObjects;

HotObjects *hot_objects_new(void);
void hot_objects_free(HotObjects *hot);

void hot_objects_add(HotObjects *hot, uint32_t object);

/* Have @table know which they are (FACT_HOT), before it ranks any. */
void hot_objects_tell(const HotObjects *hot, ObjectTable *table);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HotObjects, hot_objects_free)
