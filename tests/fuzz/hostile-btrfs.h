/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-tree.h"
#include "tests/fuzz/choices.h"

/*
 * HostileBtrfs - a kernel that has mounted one small btrfs, some of whose items are damaged: ioctl() of a
 * program that is linked with this is its one.
 *
 * Without damages the btrfs is valid: subvolumes, files, extents with checksums and equal data among them.  The
 * reply to an ioctl can be damaged, too.
 *
 * Thread: any, one at a time.
 */
#define HOSTILE_BLOCK_BYTES 4096

/* The files' subvolumes: the top level, and two in it. */
#define HOSTILE_SUBVOLUMES 3
extern const uint64_t hostile_subvolumes[HOSTILE_SUBVOLUMES];

#define HOSTILE_FIRST_INODE 257
#define HOSTILE_FILES_MAX   6

/* Where the first extent lies. */
#define HOSTILE_ADDRESS (UINT64_C(16) << 20)

#define HOSTILE_GENERATION 100

/* Make a new btrfs in place of the one before; @generation is its last transaction. */
void hostile_btrfs_make(Choices *choices, uint64_t generation);
void hostile_btrfs_clear(void);

/* How often the kernel was called since the btrfs was made. */
unsigned hostile_btrfs_calls(void);
