/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-info.h"

#include "tests/unit/fake-btrfs.h"

#include <glib.h>
#include <string.h>

#define FLAGS (BTRFS_FS_INFO_FLAG_CSUM_INFO | BTRFS_FS_INFO_FLAG_GENERATION)

static void kernel_set(uint64_t flags, uint16_t csum_type, uint16_t csum_bytes)
{
	*fake_btrfs() = (FakeBtrfs){
		.info = {
			.flags = flags,
			.csum_type = csum_type,
			.csum_size = csum_bytes,
			.fsid = "0123456789abcde",
			.nodesize = 16384,
			.sectorsize = 4096,
			.clone_alignment = 8192,
			.generation = 77,
		},
	};
}

static void test_each_field_is_what_the_kernel_tells(void)
{
	static const struct {
		uint16_t type, bytes;
		BtrfsChecksum checksum;
	} cases[] = {
		{ 0, 4, BTRFS_CHECKSUM_CRC32C },   { 1, 8, BTRFS_CHECKSUM_XXHASH64 },
		{ 2, 32, BTRFS_CHECKSUM_SHA256 },  { 3, 32, BTRFS_CHECKSUM_BLAKE2B },
		{ 99, 1, BTRFS_CHECKSUM_UNKNOWN },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		BtrfsInfo info;

		kernel_set(FLAGS, cases[i].type, cases[i].bytes);
		g_assert_true(btrfs_info_read(FAKE_BTRFS_FD, &info, &error));
		g_assert_no_error(error);
		g_assert_cmpint(info.checksum, ==, cases[i].checksum);
		g_assert_cmpuint(info.sum_bytes, ==, cases[i].bytes);
		g_assert_cmpuint(info.sector_bytes, ==, 4096);
		g_assert_cmpuint(info.node_bytes, ==, 16384);
		g_assert_cmpuint(info.generation, ==, 77);
		g_assert_cmpmem(info.uuid, sizeof(info.uuid), "0123456789abcde", 16);
	}
}

static void test_a_kernel_that_does_not_tell_the_checksums_is_an_error(void)
{
	static const struct {
		uint64_t flags;
		uint16_t bytes;
	} cases[] = {
		{ 0, 4 },
		{ BTRFS_FS_INFO_FLAG_CSUM_INFO, 4 },
		{ BTRFS_FS_INFO_FLAG_GENERATION, 4 },
		{ FLAGS, 0 },
		{ FLAGS, BTRFS_SUM_BYTES_MAX + 1 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		BtrfsInfo info;

		kernel_set(cases[i].flags, 0, cases[i].bytes);
		g_assert_false(btrfs_info_read(FAKE_BTRFS_FD, &info, &error));
		g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSYS);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-info/each-field-is-what-the-kernel-tells",
			test_each_field_is_what_the_kernel_tells);
	g_test_add_func("/btrfs-info/a-kernel-that-does-not-tell-the-checksums-is-an-error",
			test_a_kernel_that_does_not_tell_the_checksums_is_an_error);

	return g_test_run();
}
