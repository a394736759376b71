/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/disk-table.h"
#include "daemon/context/filesystem.h"

/*
 * How many threads read the data of a filesystem through the page cache at a time: one if any of its disks rotates,
 * since a second stream costs a seek each way; else as many as the disk can serve.
 *
 * Thread: any.
 */
unsigned io_parallelism_threads(DiskTable *table, const Filesystem *filesystem);
