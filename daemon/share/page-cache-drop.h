/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"

/*
 * Drop the pages that the pass still keeps in the page cache, after it has compared everything.
 *
 * A stopped pass drops nothing, because that takes an open per file: the kernel reclaims unused pages first.
 *
 * Thread: the filesystem's worker.
 */
bool page_cache_drop_drop(Pass *pass, FileOpener *opener, GError **error) G_GNUC_WARN_UNUSED_RESULT;
