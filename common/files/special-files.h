/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "common/files/skip.h"
#include "kernel-ioctl/file/file-attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * SpecialFiles - files that must not be shared, recognized by their first bytes.  A swap file with holes or
 * shared blocks cannot be used any more.  GRUB writes its environment block by block address.
 *
 * Pure.  Thread: any.
 */

/*
 * True if the first @length bytes of a file, at @head, begin such a file; *ret_reason tells which.  The
 * signature of a swap file ends its first page, which has 4 to 64 KiB.
 */
bool special_files_match(const uint8_t *head, size_t length, SkipReason *ret_reason);

/* True if the inode's flags, or the settings for them, forbid to share its data. */
bool special_files_are_forbidden(const Settings *settings, const FileAttributes *attributes,
				 SkipReason *ret_reason);
