/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/file-report.h"

/*
 * SharerText - "it shares this with /srv/a and 3 other files": who shares data of a file, by its report, or why that
 * cannot be told.
 *
 * Thread: main.
 */

/* To be freed with g_free(). */
char *sharer_text(const FileReport *report, const NamedFile *file);
