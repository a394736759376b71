/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/pass.h"

/*
 * Wait while a btrfs does what sharing would be in the way of: a balance or a change of devices,
 * which move extents, and a scrub, which reads all disks from end to end.  What it waits for is said
 * once.  Ends at once when the pass is asked to stop.
 *
 * Thread: the filesystem's worker.
 */
void extent_pause(const Pass *pass);

/* The same, but looks at it a second after @looked_usec (monotonic; kept here) at the earliest. */
void extent_pause_when_due(const Pass *pass, int64_t *looked_usec);
