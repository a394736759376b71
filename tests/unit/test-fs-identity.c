/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/fs-identity.h"

#include "kernel-ioctl/call/fd.h"

#include <string.h>
#include <sys/mman.h>

static void test_a_uuid_is_written_as_others_write_it(void)
{
	const uint8_t uuid[FS_UUID_BYTES] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					      0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
	char text[FS_UUID_TEXT_BYTES];

	fs_uuid_format(uuid, text);
	g_assert_cmpstr(text, ==, "00112233-4455-6677-8899-aabbccddeeff");
}

static void test_another_filesystem_is_no_error(void)
{
	g_auto(Fd) fd = memfd_create("other", MFD_CLOEXEC);
	const FsIdentity other = { 0 };
	g_autoptr(GError) error = NULL;
	FsIdentity identity;
	uint64_t subvolume = 1;

	memset(&identity, 0xff, sizeof(identity));
	g_assert_true(fs_identity_read(fd, &identity, &error));
	g_assert_cmpint(identity.kind, ==, FS_KIND_OTHER);
	g_assert_cmpmem(identity.uuid, FS_UUID_BYTES, other.uuid, FS_UUID_BYTES);
	g_assert_cmpuint(identity.block_bytes, ==, 0);
	g_assert_false(identity.can_share);
	g_assert_cmpstr(fs_kind_name(identity.kind), ==, "other");

	g_assert_true(fs_subvolume_read(fd, FS_KIND_OTHER, &subvolume, &error));
	g_assert_cmpuint(subvolume, ==, 0);
}

static void test_a_descriptor_that_says_nothing_is_an_error(void)
{
	g_auto(Fd) fd = memfd_create("other", MFD_CLOEXEC);
	g_autoptr(GError) of_identity = NULL;
	g_autoptr(GError) of_subvolume = NULL;
	g_autoptr(GError) of_space = NULL;
	FsIdentity identity;
	uint64_t value;

	g_assert_false(fs_identity_read(-1, &identity, &of_identity));
	g_assert_cmpstr(of_identity->message, ==,
			"cannot read the state of the filesystem: Bad file descriptor");
	g_assert_false(fs_subvolume_read(fd, FS_KIND_BTRFS, &value, &of_subvolume));
	g_assert_nonnull(of_subvolume);
	g_assert_false(fs_used_bytes(fd, FS_KIND_BTRFS, &value, &of_space));
	g_assert_nonnull(of_space);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/fs-identity/a-uuid-is-written-as-others-write-it",
			test_a_uuid_is_written_as_others_write_it);
	g_test_add_func("/fs-identity/another-filesystem-is-no-error",
			test_another_filesystem_is_no_error);
	g_test_add_func("/fs-identity/a-descriptor-that-says-nothing-is-an-error",
			test_a_descriptor_that_says_nothing_is_an_error);

	return g_test_run();
}
