/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-refs.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A kernel that knows one btrfs, as a list of items: ioctl() of a program that is linked with this
 * is its one.  It answers as fs/btrfs/ioctl.c of Linux 6.18 does.
 */
typedef struct {
	uint64_t tree;
	BtrfsKey key;
	const void *data;
	uint32_t length;
	uint64_t transid;
} FakeItem;

typedef struct {
	/* What it knows; items in the order of their keys within each tree. */
	const FakeItem *items;
	size_t n_items;
	const BtrfsRef *refs;
	size_t n_refs;
	const uint64_t *devices; /* their ids, rising */
	size_t n_devices;
	uint64_t scrubbed; /* the device that is; 0: none */

	/* How it misbehaves. */
	int error;
	int scrub_error;
	bool repeats_itself;  /* begins with the first item, whatever is asked for */
	uint32_t extra_bytes; /* says that items are longer than they are */
	uint32_t extra_items; /* says that there are more than there are */

	/* What it was asked. */
	unsigned n_calls;
	uint64_t largest_buffer_bytes;
	uint32_t asked_items; /* by the last search, at most */
} FakeBtrfs;

#define FAKE_BTRFS_FD 1000

/* The one there is.  A test sets it up anew. */
FakeBtrfs *fake_btrfs(void);
