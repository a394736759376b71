/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * Overruling - finds values of a drop-in that are not in force, since a file that is read later overrides them.
 *
 * Pure.  Thread: main.
 */

/*
 * Find the entry that overrides @assignment ("KEY=VALUE"), which the file @path sets for the filesystem with
 * @names.  NULL: none does, or @path does not set it.  A later pattern overrides one of the other kind if it
 * matches all that this one matches.  The entry is owned by @config.
 */
const ConfigEntry *overruling_find(const Config *config, const char *const *names, const char *path,
				   const char *assignment);

/* The same as text for users: "not in force: Zeros=keep; FILE:2, which is read later, says hole". */
char *overruling_text(const char *assignment, const ConfigEntry *entry);
