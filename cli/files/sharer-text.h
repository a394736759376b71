/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/arguments/named-file.h"
#include "cli/files/file-report.h"

/*
 * SharerText - says who shares data of a file, by its report: "it shares this with /srv/a and 3 other files".
 * Or it says why that is not known.
 *
 * Thread: main.
 */

/* To be freed with g_free(). */
char *sharer_text(const FileReport *report, const NamedFile *file);
