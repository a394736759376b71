/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/disks/throttle.h"
#include "kernel-ioctl/machine/disk-topology.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * DeviceWatch - looks at the devices of a pass once a second.
 *
 * The pass waits while an array is synchronized, or while a btrfs filesystem is balanced, scrubbed or given other
 * devices.  The pass ends if the devices are failing or gone, if the filesystem becomes read-only, or if somebody
 * holds it (FilesystemHold).
 *
 * These count as failing: an array or a btrfs filesystem that lacks a device, and errors of btrfs
 * devices since the last pass ended.  On XFS, DEVICE_WATCH_UNREADABLE files that could not be read
 * count, too.  On btrfs no number of unreadable files is a failure of a device: any user can create
 * such files.
 *
 * Thread: the one that made it; in others nothing happens.
 */
typedef struct DeviceWatch DeviceWatch;

#define DEVICE_WATCH_UNREADABLE 16

typedef struct {
	const DiskTopology *topology;
	FsLocation location;
	int fd; /* on the filesystem; -1: none */
	const char *mount_point;
	const char *uuid;   /* NULL: a filesystem that nobody holds */
	Throttle *throttle; /* held while the pass waits; NULL: none */
	bool is_written; /* not in a dry run, which a filesystem that becomes read-only does not end */
	bool runs_degraded;        /* failures do not end the pass, only missing devices do */
	int64_t (*now_usec)(void); /* monotonic; NULL: the time of the kernel's last tick */
} DeviceWatchOptions;

/* @options are borrowed for the call; the objects they point to, for as long as the watch lives. */
DeviceWatch *device_watch_new(const DeviceWatchOptions *options);
void device_watch_free(DeviceWatch *watch);

/* Set the number of device errors when the last pass ended.  Until then the present number counts. */
void device_watch_set_known_errors(DeviceWatch *watch, uint64_t errors);

/* The number of device errors by now. */
uint64_t device_watch_errors(const DeviceWatch *watch);

/*
 * Look, if it is time to, and wait until the pass may go on, or for @stop.  @n_unreadable files could not be read
 * so far.  Returns why the pass has to end, to be freed; NULL: it may go on.  *@ret_is_on_hold: nothing fails, but
 * somebody holds the filesystem.
 */
char *device_watch_look(DeviceWatch *watch, uint64_t n_unreadable, const atomic_bool *stop,
			bool *ret_is_on_hold);

/* The same at once, and without waiting: for a caller that has failed and looks for the cause. */
char *device_watch_find_trouble(const DeviceWatch *watch, uint64_t n_unreadable);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeviceWatch, device_watch_free)
