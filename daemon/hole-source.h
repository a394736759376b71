/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * HoleSource - an unnamed sparse file of the filesystem: sharing its hole with zeros frees them,
 * and the kernel checks that they are zeros.
 *
 * Thread: the filesystem's worker.
 */
typedef struct HoleSource HoleSource;

/* The file is made in @directory when it is first needed. */
HoleSource *hole_source_new(const char *directory, uint32_t block_bytes);
void hole_source_free(HoleSource *hole);

/*
 * A descriptor of which the first @length bytes, at most DEDUPE_ROUND_BYTES, are a hole; -1: the
 * filesystem did not let us make it.  A length that is no multiple of the block size ends the file,
 * since the kernel shares part of a block at the end of both files only.
 */
int hole_source_fd(HoleSource *hole, uint64_t length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HoleSource, hole_source_free)
