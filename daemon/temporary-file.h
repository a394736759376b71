/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
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
