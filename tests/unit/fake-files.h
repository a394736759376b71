/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "tests/unit/fake-btrfs.h"

#include <glib.h>
#include <stdbool.h>

/*
 * FakeFiles - subvolumes, files and extents that the kernel of FakeBtrfs knows.  A test may add them in any order.
 */
typedef struct {
	GArray *items; /* FakeItem */
	GPtrArray *data;
} FakeFiles;

/* The transaction that runs. */
#define FAKE_FILES_GENERATION 100

/* What is asked of it before anything else: CRC32C of blocks of 4 KiB. */
extern const BtrfsInfo fake_files_info;

FakeFiles *fake_files_new(void);
void fake_files_free(FakeFiles *files);

/* Set up the only FakeBtrfs with all that was added so far. */
void fake_files_use(FakeFiles *files);

/* Add an item with a copy of @data, which is returned. */
void *fake_files_add(FakeFiles *files, uint64_t tree, BtrfsKey key, const void *data, size_t length,
		     uint64_t transid);

void fake_files_add_subvolume(FakeFiles *files, uint64_t id, bool is_read_only);

/* Add a file that the transaction @transid changed last; @flags are those of its inode. */
void fake_files_add_inode(FakeFiles *files, uint64_t root, uint64_t inode, uint64_t size_bytes,
			  uint64_t flags, uint64_t transid);

/* A reference of a file to an extent. */
typedef struct {
	uint64_t root, inode, offset;
	uint64_t bytenr, disk_bytes, ram_bytes;
	uint64_t position, length;
	bool is_compressed;
} FakeReference;

/* Add it with transaction 1. */
struct btrfs_file_extent_item *fake_files_add_reference(FakeFiles *files,
							const FakeReference *reference);

/* Add the item of an extent of data, or of a tree block, that the transaction @generation allocated. */
void fake_files_add_extent(FakeFiles *files, uint64_t bytenr, uint64_t disk_bytes, bool is_data,
			   uint64_t generation);

/* The same, of data, where the item names one reference that begins at @offset of its file. */
void fake_files_add_named_extent(FakeFiles *files, uint64_t bytenr, uint64_t disk_bytes,
				 uint64_t root, uint64_t inode, uint64_t offset);

/* Add the checksums of @n_blocks blocks of 4 KiB from @bytenr on. */
void fake_files_add_sums(FakeFiles *files, uint64_t bytenr, const uint32_t *sums, size_t n_blocks);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FakeFiles, fake_files_free)
