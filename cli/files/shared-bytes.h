/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"

/*
 * SharedBytes - counts how much of two files is the same data on the disk, by address.  Files on different
 * filesystems share nothing.
 *
 * Memory: 16 MiB, whatever the number of extents; more goes to temporary files.
 *
 * Thread: main.
 */
typedef struct {
	uint64_t data_bytes[2];   /* of each file, without holes */
	uint64_t shared_bytes[2]; /* of these, also in the other file, at any offset */
	uint64_t in_place_bytes;  /* in both at the same offset */
	uint64_t disk_bytes;      /* addresses in both; compressed data counts uncompressed */
} SharedBytes;

bool shared_bytes_count(const NamedFile *one, const NamedFile *other, SharedBytes *ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;
