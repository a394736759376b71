/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * FsUuid - the UUID of a filesystem, as its superblock has it; or of a btrfs subvolume.
 *
 * Pure.  Thread: any.
 */
#define FS_UUID_BYTES      16
#define FS_UUID_TEXT_BYTES 37

/* Whether it is known: not all zeros. */
bool fs_uuid_is_set(const uint8_t uuid[FS_UUID_BYTES]);

/* For tables with UUIDs (uint8_t[FS_UUID_BYTES]) as keys. */
guint fs_uuid_hash(const void *uuid);
gboolean fs_uuid_equal(const void *a, const void *b);

/* Lower-case text form with hyphens, for file names and messages. */
void fs_uuid_format(const uint8_t uuid[FS_UUID_BYTES], char ret[FS_UUID_TEXT_BYTES]);
