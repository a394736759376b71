/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * FsUuid - the UUID of a filesystem, from its superblock, or of a btrfs subvolume.
 *
 * Pure.  Thread: any.
 */
#define FS_UUID_BYTES      16
#define FS_UUID_TEXT_BYTES 37

/* False if all bytes are zero: the UUID is not known. */
bool fs_uuid_is_set(const uint8_t uuid[FS_UUID_BYTES]);

/* For hash tables whose keys are UUIDs (uint8_t[FS_UUID_BYTES]). */
guint fs_uuid_hash(const void *uuid);
gboolean fs_uuid_equal(const void *a, const void *b);

/* Lower-case text with hyphens, for file names and messages. */
void fs_uuid_format(const uint8_t uuid[FS_UUID_BYTES], char ret[FS_UUID_TEXT_BYTES]);
