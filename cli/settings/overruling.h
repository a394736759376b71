/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * Overruling - that a value of a drop-in is not in force, as a file that is read later says otherwise.
 *
 * Pure.  Thread: main.
 */

/*
 * What overrules @assignment ("KEY=VALUE"), which the file @path says for the filesystem that goes by each of @names;
 * NULL: nothing does, or @path does not say it.  A later pattern overrules one of the other kind if it matches all that
 * this one names.  The entry is the configuration's.
 */
const ConfigEntry *overruling_find(const Config *config, const char *const *names, const char *path,
				   const char *assignment);

/* The same, for people: "not in force: Zeros=keep; FILE:2, which is read later, says hole". */
char *overruling_text(const char *assignment, const ConfigEntry *entry);
