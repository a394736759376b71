/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/mounts/mount-table.h"

/*
 * MissingSection - finds sections of the configuration whose filesystem is not mounted, or whose disk does
 * not exist.
 *
 * Thread: any.
 */

/*
 * A text that @entry begins such a section, with file and line; NULL: it does not.  @mounts may be NULL for a
 * disk; otherwise NULL means that nothing is mounted.
 */
char *missing_section_text(const MountTable *mounts, const ConfigEntry *entry);
