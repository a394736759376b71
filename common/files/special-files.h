/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"
#include "common/files/skip.h"
#include "kernel-ioctl/file/file-attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Files that must not be shared whatever they equal, known by what they begin with: swap files (one
 * with holes or shared blocks can no longer be swapped on) and GRUB's environment block, which GRUB
 * writes by block address.
 *
 * Pure.  Thread: any.
 */

/*
 * Whether the first @length bytes of a file, at @head, begin such a file; *ret_reason says which.
 * A swap file's signature ends its first page, which has 4 to 64 KiB.
 */
bool special_files_match(const uint8_t *head, size_t length, SkipReason *ret_reason);

/* Whether the inode's flags forbid to share its data, be it as the user wants it. */
bool special_files_are_forbidden(const Settings *settings, const FileAttributes *attributes,
				 SkipReason *ret_reason);
