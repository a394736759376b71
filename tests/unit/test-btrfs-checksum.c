/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-checksum.h"

#include <glib.h>
#include <string.h>

static const char check[] = "123456789";

static void assert_sum(BtrfsChecksum checksum, const void *data, size_t length, const char *hex)
{
	uint8_t sum[BTRFS_SUM_BYTES_MAX];
	g_autoptr(GString) text = g_string_new(NULL);

	memset(sum, 0xee, sizeof(sum));
	g_assert_true(btrfs_checksum_compute(checksum, data, length, sum));
	for (size_t i = 0; i < sizeof(sum); i++)
		g_string_append_printf(text, "%02x", sum[i]);
	g_assert_true(g_str_has_prefix(text->str, hex));
	for (size_t i = strlen(hex); i < text->len; i++)
		g_assert_cmpint(text->str[i], ==, '0');
}

/* Known answers: RFC 3720, the xxHash specification's XXH64 of nothing, FIPS 180-2. */
static void test_sums_are_those_of_the_standards(void)
{
	uint8_t zeros[32] = { 0 };

	assert_sum(BTRFS_CHECKSUM_CRC32C, check, 9, "839206e3");
	assert_sum(BTRFS_CHECKSUM_CRC32C, zeros, 32, "aa36918a");
	assert_sum(BTRFS_CHECKSUM_CRC32C, "", 0, "00000000");
	assert_sum(BTRFS_CHECKSUM_XXHASH64, "", 0, "99e9d85137db46ef");
	assert_sum(BTRFS_CHECKSUM_SHA256, "abc", 3,
		   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_what_cannot_be_computed_says_so(void)
{
	uint8_t sum[BTRFS_SUM_BYTES_MAX];

	g_assert_false(btrfs_checksum_compute(BTRFS_CHECKSUM_BLAKE2B, check, 9, sum));
	g_assert_false(btrfs_checksum_of_zeros(BTRFS_CHECKSUM_BLAKE2B, 512, sum));
	g_assert_false(btrfs_checksum_of_zeros(BTRFS_CHECKSUM_UNKNOWN, 4096, sum));
}

static void test_the_sum_of_zeros_is_that_of_a_block_of_them(void)
{
	g_autofree uint8_t *block = g_malloc0(65536);

	for (BtrfsChecksum kind = BTRFS_CHECKSUM_CRC32C; kind <= BTRFS_CHECKSUM_SHA256; kind++)
		for (uint32_t size = 4096; size <= 65536; size *= 4) {
			uint8_t a[BTRFS_SUM_BYTES_MAX], b[BTRFS_SUM_BYTES_MAX];

			g_assert_true(btrfs_checksum_of_zeros(kind, size, a));
			g_assert_true(btrfs_checksum_compute(kind, block, size, b));
			g_assert_cmpmem(a, sizeof(a), b, sizeof(b));
		}
	for (uint32_t size = 4096; size <= 65536; size *= 2) {
		uint8_t sum[BTRFS_SUM_BYTES_MAX];

		g_assert_true(btrfs_checksum_of_zeros(BTRFS_CHECKSUM_BLAKE2B, size, sum));
	}
}

static void test_types_on_the_disk_are_known(void)
{
	for (uint16_t type = 0; type < BTRFS_CHECKSUM_UNKNOWN; type++)
		g_assert_cmpint(btrfs_checksum_of_type(type), ==, type);
	g_assert_cmpint(btrfs_checksum_of_type(BTRFS_CHECKSUM_UNKNOWN), ==, BTRFS_CHECKSUM_UNKNOWN);
	g_assert_cmpint(btrfs_checksum_of_type(UINT16_MAX), ==, BTRFS_CHECKSUM_UNKNOWN);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-checksum/sums-are-those-of-the-standards",
			test_sums_are_those_of_the_standards);
	g_test_add_func("/btrfs-checksum/what-cannot-be-computed-says-so",
			test_what_cannot_be_computed_says_so);
	g_test_add_func("/btrfs-checksum/the-sum-of-zeros-is-that-of-a-block-of-them",
			test_the_sum_of_zeros_is_that_of_a_block_of_them);
	g_test_add_func("/btrfs-checksum/types-on-the-disk-are-known",
			test_types_on_the_disk_are_known);

	return g_test_run();
}
