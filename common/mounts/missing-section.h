/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/mounts/mount-table.h"

/*
 * MissingSection - a section of the configuration whose filesystem is not mounted, or whose disk is not there.
 *
 * Thread: any.
 */

/*
 * That @entry begins such a section, with its file and line, for people; NULL: it does not.  @mounts is not needed for
 * a disk; NULL: nothing is mounted.
 */
char *missing_section_text(const MountTable *mounts, const ConfigEntry *entry);
