/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/mounts/mount-table.h"

/*
 * MissingName - a section of the configuration whose filesystem or disk does not exist.  It is mistyped, or not
 * mounted now.
 *
 * Thread: main.
 */
typedef struct {
	char *text;      /* file, line, section and what is wrong */
	char *advice;    /* what to do */
	bool is_mistake; /* most likely; else it may appear later */
} MissingName;

/* An array of all MissingNames in @config, in the order in which the configuration was read. */
GPtrArray *missing_names_find(const Config *config, const MountTable *mounts);
