/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * TemporaryFile - unnamed temporary files, for data that grows with the filesystem and so must not be in
 * memory.
 *
 * Thread: any.
 */

/*
 * Create a file without a name in @directory (O_TMPFILE, else created and unlinked).  Returns its descriptor,
 * or -1.
 */
int temporary_file_open(const char *directory, GError **error);

/* Allocate space for the bytes, so that no write through a mapping can fail. */
bool temporary_file_allocate(int fd, uint64_t offset, uint64_t bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Report a failed write with the errno value @cause.  Returns false. */
bool temporary_file_fail(int cause, GError **error);
