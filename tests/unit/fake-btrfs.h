/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-refs.h"
#include "kernel-ioctl/btrfs/btrfs-tree.h"

#include <linux/btrfs.h>
#include <stddef.h>
#include <stdint.h>

/*
 * FakeBtrfs - a kernel that knows one btrfs filesystem, as a list of items.  It is the ioctl() of a program
 * that links it, and answers like fs/btrfs/ioctl.c of Linux 6.18.
 */
typedef struct {
	uint64_t tree;
	BtrfsKey key;
	const void *data;
	uint32_t length;
	uint64_t transid;
} FakeItem;

typedef struct {
	/* Its data; items are ordered by key within each tree. */
	const FakeItem *items;
	size_t n_items;
	const BtrfsRef *refs;
	size_t n_refs;
	const uint64_t *devices; /* their ids, rising */
	size_t n_devices;
	uint64_t scrubbed;                    /* the device being scrubbed; 0: none */
	struct btrfs_ioctl_fs_info_args info; /* its devices are those above */
	bool passes_others_on; /* other descriptors are of real filesystems, as of the state directory */

	/* Its misbehaviour. */
	int error;
	int scrub_error;
	bool repeats_itself;  /* begins with the first item at each request */
	uint32_t extra_bytes; /* reports items as longer than they are */
	uint32_t extra_items; /* reports more items than there are */

	/* The requests it got. */
	unsigned n_calls;
	uint64_t largest_buffer_bytes;
	uint32_t asked_items;  /* by the last search, at most */
	uint64_t asked_offset; /* of the last key that it asked for */
} FakeBtrfs;

#define FAKE_BTRFS_FD 1000

/* The only instance, which each test sets up anew. */
FakeBtrfs *fake_btrfs(void);
