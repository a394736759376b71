/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"

/*
 * Give back what a pass still keeps in the page cache when it has compared everything.
 *
 * One that was told to stop gives nothing back, since that takes an open for each file: the kernel
 * reclaims what is used by nobody first.
 *
 * Thread: the filesystem's worker.
 */
bool page_cache_drop_drop(Pass *pass, FileOpener *opener, GError **error) G_GNUC_WARN_UNUSED_RESULT;
