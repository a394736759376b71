/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/client/daemon-filesystem.h"
#include "cli/terminal/table.h"

/*
 * The holds of a filesystem (DaemonHold), as JSON and as text.
 *
 * Thread: main.
 */
Table *hold_table(const GPtrArray *holds, const Options *options);

/* "process 1234 (root) since 2026-11-21 05:06: btrfs"; to be freed. */
char *hold_text(const DaemonHold *hold);
