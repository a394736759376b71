/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/managed-mount.h"
#include "tests/unit/scratch.h"

/* Two XFS filesystems, of which the first is mounted twice. */
static const char *const mountinfo = "31 1 8:17 / /srv rw - xfs /dev/sdb1 rw\n"
				     "32 1 8:17 / /again rw - xfs /dev/sdb1 rw\n"
				     "33 1 8:33 / /other rw - xfs /dev/sdc1 rw\n";

static bool is_reachable(const MountPoint *mount_point, int *ret_failure)
{
	return true;
}

static bool identify(const MountedFilesystem *filesystem, const MountPoint *mount_point,
		     FsIdentity *ret, GError **error)
{
	uint8_t byte = (uint8_t)filesystem->minor;

	*ret = (FsIdentity){ FS_KIND_XFS, { byte }, 4096, true, { byte }, { byte } };
	return true;
}

static const MountLook look = { is_reachable, identify };

typedef struct {
	Scratch *scratch;
	MountTable *mounts;
	ManagedMount mount;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	g_autofree char *path = NULL;

	scene->scratch = scratch_new();
	scratch_put(scene->scratch, "mountinfo", mountinfo);
	path = scratch_path(scene->scratch, "mountinfo");
	scene->mounts = mount_table_read(path, &look, NULL, NULL);
	g_assert_nonnull(scene->mounts);
}

static void tear_down(Scene *scene, const void *data)
{
	managed_mount_clear(&scene->mount);
	mount_table_free(scene->mounts);
	scratch_free(scene->scratch);
}

static void set(Scene *scene, const char *target)
{
	managed_mount_set(&scene->mount, mount_table_find_target(scene->mounts, target));
}

static void test_a_mount_is_known_by_one_way_to_all_of_it(Scene *scene, const void *data)
{
	set(scene, "/again");
	g_assert_true(scene->mount.is_mounted);
	g_assert_cmpuint(g_strv_length(scene->mount.targets), ==, 1);
	g_assert_cmpstr(scene->mount.mount_point, ==, scene->mount.targets[0]);
	g_assert_null(scene->mount.refusal);
}

static void test_another_mount_takes_the_place_of_the_previous_one(Scene *scene, const void *data)
{
	set(scene, "/srv");
	set(scene, "/other");
	g_assert_cmpstr(scene->mount.mount_point, ==, "/other");
	g_assert_cmpuint(managed_mount_location(&scene->mount).minor, ==, 33);
}

/* The status still tells where it was. */
static void test_an_unmounted_one_keeps_its_mount_point(Scene *scene, const void *data)
{
	set(scene, "/other");
	set(scene, "/absent");
	g_assert_false(scene->mount.is_mounted);
	g_assert_cmpstr(scene->mount.mount_point, ==, "/other");
}

#define ADD(name, test) g_test_add("/managed-mount/" name, Scene, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("way", test_a_mount_is_known_by_one_way_to_all_of_it);
	ADD("another", test_another_mount_takes_the_place_of_the_previous_one);
	ADD("unmounted", test_an_unmounted_one_keeps_its_mount_point);
	return g_test_run();
}
