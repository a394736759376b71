/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * FsUuid - the UUID of a filesystem, as its superblock has it.
 *
 * Pure.  Thread: any.
 */
#define FS_UUID_BYTES      16
#define FS_UUID_TEXT_BYTES 37

/* Lower-case text form with hyphens, for file names and messages. */
void fs_uuid_format(const uint8_t uuid[FS_UUID_BYTES], char ret[FS_UUID_TEXT_BYTES]);
