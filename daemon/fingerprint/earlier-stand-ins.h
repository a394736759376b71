/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/content/sum-cache.h"
#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"

/*
 * Put the stand-ins of earlier passes into @cache: files that have all of their anchors themselves and did not
 * change since.  Maps the extents of all of them, but reads no data.  @before is the first object of this pass.
 *
 * Thread: the filesystem's worker.
 */
bool earlier_stand_ins_load(Pass *pass, FileOpener *opener, SumCache *cache, uint32_t before,
			    GError **error) G_GNUC_WARN_UNUSED_RESULT;
