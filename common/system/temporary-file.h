/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Unnamed temporary files: what grows with the filesystem lives here and not in memory.
 *
 * Thread: any.
 */

/*
 * Make a file without a name in @directory (O_TMPFILE, else made and unlinked at once) and return
 * its descriptor, or -1.
 */
int temporary_file_open(const char *directory, GError **error);

/* Give room to the bytes, so that no write through a map of them can fail. */
bool temporary_file_allocate(int fd, uint64_t offset, uint64_t bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* That it cannot be written, for @cause (errno); false. */
bool temporary_file_fail(int cause, GError **error);
