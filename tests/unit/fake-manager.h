/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/manager.h"

/* A Manager that only has filesystems, disks and a listener, for tests of the bus.  The test makes and frees these. */
struct Manager {
	GPtrArray *filesystems; /* ManagedFilesystem */
	DiskTable *disks;
	ManagerListener listener;
};
