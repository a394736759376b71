/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/own-options.h"
#include "tests/unit/scratch.h"

static const char mountinfo[] =
	"22 1 0:21 / /proc rw - proc proc rw\n"
	"31 1 8:1 / /a\\040-\\040b rw shared:1 master:2 - xfs /dev/sda1 rw,nouuid\n"
	"32 1 8:1 /sub /bind rw - xfs /dev/sda1 rw,other\n"
	"34 1 8:3 / /short rw - xfs\n"
	"35 1 8:4 / /hyphen rw - xfs - rw,hyphen\n"
	"nonsense\n";

typedef struct {
	Scratch *scratch;
	char *path;
	OwnOptions *options;
} Fixture;

static void set_up(Fixture *fixture, const void *data)
{
	fixture->scratch = scratch_new();
	fixture->path = scratch_path(fixture->scratch, "mountinfo");
	fixture->options = own_options_new(fixture->path);
	scratch_put(fixture->scratch, "mountinfo", mountinfo);
}

static void tear_down(Fixture *fixture, const void *data)
{
	own_options_free(fixture->options);
	g_free(fixture->path);
	scratch_free(fixture->scratch);
}

static void test_options_are_those_of_the_device(Fixture *fixture, const void *data)
{
	g_assert_cmpstr(own_options_of(fixture->options, 0, 21), ==, "rw");
	/* All mounts of a filesystem have the same ones. */
	g_assert_cmpstr(own_options_of(fixture->options, 8, 1), ==, "rw,nouuid");
	g_assert_cmpstr(own_options_of(fixture->options, 8, 4), ==, "rw,hyphen");
	g_assert_null(own_options_of(fixture->options, 8, 3));
	g_assert_null(own_options_of(fixture->options, 8, 5));
}

static void test_one_device_is_read_alone(Fixture *fixture, const void *data)
{
	g_autofree char *known = own_options_read(fixture->path, 8, 1);

	g_assert_cmpstr(known, ==, "rw,nouuid");
	g_assert_null(own_options_read(fixture->path, 8, 5));
	g_assert_null(own_options_read("/nonexistent", 8, 1));
}

static void test_mountinfo_is_read_once(Fixture *fixture, const void *data)
{
	g_assert_null(own_options_of(fixture->options, 8, 5));
	scratch_put(fixture->scratch, "mountinfo", "40 1 8:5 / /new rw - xfs /dev/sda5 rw,new\n");
	g_assert_null(own_options_of(fixture->options, 8, 5));
	g_assert_cmpstr(own_options_of(fixture->options, 8, 1), ==, "rw,nouuid");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, test) g_test_add("/own-options/" name, Fixture, NULL, set_up, test, tear_down)
	ADD("device", test_options_are_those_of_the_device);
	ADD("alone", test_one_device_is_read_alone);
	ADD("once", test_mountinfo_is_read_once);
	return g_test_run();
}
