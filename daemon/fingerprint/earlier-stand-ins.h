/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/sum-cache.h"
#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"

/*
 * Put into @cache which files of earlier passes stand for the blocks that they share: those of which all
 * anchors are their own, and that did not change since.  Reads no data, but the extents of all of them.
 * @before is the first object of this pass.
 *
 * Thread: the filesystem's worker.
 */
bool earlier_stand_ins_load(Pass *pass, FileOpener *opener, SumCache *cache, uint32_t before,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;
