/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/file/fs-identity.h"
#include "tests/unit/scratch.h"

#include <stdint.h>

/*
 * The real filesystem that on-filesystem made for this program, and what tests ask of it beyond
 * what dedupd does.  What fails in here fails the test.
 */

/* The kind of the filesystem of $DEDUPD_TEST_DIR; FS_KIND_OTHER where it is not set. */
FsKind real_filesystem_kind(void);

/* Create the btrfs subvolume @name; an open directory. */
int real_filesystem_create_subvolume(Scratch *scratch, const char *name);

/* Make a snapshot @name of the subvolume @of, both in @scratch; an open directory. */
int real_filesystem_create_snapshot(Scratch *scratch, const char *of, const char *name,
				    bool is_read_only);

/* Delete the subvolume or snapshot @name, whatever is in it. */
void real_filesystem_delete_subvolume(Scratch *scratch, const char *name);

/* Set or clear one of FS_IMMUTABLE_FL and its like. */
void real_filesystem_set_flag(int fd, int flag, bool is_set);

/* Create @name with nodatacow on it and then @size bytes as scratch_create() does. */
int real_filesystem_create_no_cow(Scratch *scratch, const char *name, size_t size, uint32_t seed);

/* Mount the directory @from on the directory @to too, both in @scratch; read-only if asked. */
void real_filesystem_bind(Scratch *scratch, const char *from, const char *to, bool is_read_only);
void real_filesystem_unbind(Scratch *scratch, const char *to);

/*
 * The physical address of every 4 KiB of the file's first @length bytes, flushed; 0 for what has
 * none of its own.  To be freed.
 */
uint64_t *real_filesystem_addresses(int fd, uint64_t length);

/* How many blocks of 4 KiB of the two files' first @length bytes lie at the same address. */
unsigned real_filesystem_count_shared(int fd_a, int fd_b, uint64_t length);
