/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/manager/manager.h"

/* A Manager that only has filesystems and disks, for tests of the bus.  The test makes and frees both. */
struct Manager {
	GPtrArray *filesystems; /* ManagedFilesystem */
	DiskTable *disks;
};
