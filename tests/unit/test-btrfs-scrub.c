/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-info.h"

#include "tests/unit/fake-btrfs.h"

#include <errno.h>
#include <glib.h>

/* Devices 2 and 3 were removed. */
static const uint64_t devices[] = { 1, 4, 5 };

static void kernel_set(uint64_t scrubbed)
{
	*fake_btrfs() = (FakeBtrfs){
		.devices = devices,
		.n_devices = G_N_ELEMENTS(devices),
		.scrubbed = scrubbed,
	};
}

static void test_a_scrub_of_any_device_is_seen(void)
{
	kernel_set(0);
	g_assert_false(btrfs_is_being_scrubbed(FAKE_BTRFS_FD));
	for (size_t i = 0; i < G_N_ELEMENTS(devices); i++) {
		kernel_set(devices[i]);
		g_assert_true(btrfs_is_being_scrubbed(FAKE_BTRFS_FD));
	}
}

static void test_a_kernel_that_does_not_say_is_not_asked_again(void)
{
	kernel_set(5);
	fake_btrfs()->scrub_error = EPERM;
	g_assert_false(btrfs_is_being_scrubbed(FAKE_BTRFS_FD));
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 2);
	fake_btrfs()->error = ENOTTY;
	g_assert_false(btrfs_is_being_scrubbed(FAKE_BTRFS_FD));
	g_assert_cmpuint(fake_btrfs()->n_calls, ==, 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/btrfs-scrub/a-scrub-of-any-device-is-seen",
			test_a_scrub_of_any_device_is_seen);
	g_test_add_func("/btrfs-scrub/a-kernel-that-does-not-say-is-not-asked-again",
			test_a_kernel_that_does_not_say_is_not_asked_again);

	return g_test_run();
}
