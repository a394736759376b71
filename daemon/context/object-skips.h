/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/file-opener.h"
#include "daemon/context/pass.h"

/*
 * Count objects of the store as skipped, with their paths as examples.
 *
 * Thread: as Pass.
 */

/*
 * The path of @file: by the store's names, or in a pass over extents by btrfs's.  NULL if it has none.  To be
 * freed.
 */
char *object_skips_path(Pass *pass, FileOpener *opener, const NamedFile *file);

/* @bytes of @object are skipped for @reason; UINT64_MAX: all of it. */
bool object_skips_add(Pass *pass, FileOpener *opener, uint32_t object, SkipReason reason,
		      uint64_t bytes, GError **error) G_GNUC_WARN_UNUSED_RESULT;
