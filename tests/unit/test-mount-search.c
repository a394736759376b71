/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/mount-search.h"

#include <glib/gstdio.h>
#include <stdatomic.h>
#include <string.h>

/* Three XFS filesystems, each of which can hang. */
static const char *mountinfo = "32 1 8:17 / /one rw - xfs /dev/sdb1 rw\n"
			       "33 1 8:33 / /two rw - xfs /dev/sdc1 rw\n"
			       "34 1 8:49 / /three rw - xfs /dev/sdd1 rw\n";

#define PATIENCE_USEC (20 * G_USEC_PER_SEC)

/* The id of the mount that hangs; 0: none. */
static atomic_ulong hanging_id;
static atomic_uint n_looks[64];
static atomic_uint n_identified;

static bool is_reachable(const MountPoint *mount_point, int *ret_failure)
{
	atomic_fetch_add(&n_looks[mount_point->id], 1);
	while (atomic_load(&hanging_id) == mount_point->id)
		g_usleep(1000);
	return true;
}

static bool identify(const MountedFilesystem *filesystem, const MountPoint *mount_point,
		     FsIdentity *ret, GError **error)
{
	atomic_fetch_add(&n_identified, 1);
	*ret = (FsIdentity){ FS_KIND_XFS, { (uint8_t)mount_point->id }, 4096,
			     true,        { (uint8_t)mount_point->id }, { 0 } };
	return true;
}

static const MountLook look = { is_reachable, identify };

typedef struct {
	MainLoop *loop;
	MountSearch *search;
	MountTable *mounts;
	char *path;
	unsigned n_found, n_answered;
} Scene;

static void on_found(MountTable *mounts, void *data)
{
	Scene *scene = data;

	scene->n_found++;
	mount_table_free(scene->mounts);
	scene->mounts = mounts;
}

static void on_answered(void *data)
{
	((Scene *)data)->n_answered++;
}

static void scene_set_up(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;
	const MountSearchListener listener = { on_found, on_answered, scene };
	int fd;

	for (size_t i = 0; i < G_N_ELEMENTS(n_looks); i++)
		atomic_store(&n_looks[i], 0);
	atomic_store(&n_identified, 0);
	scene->path = g_build_filename(g_get_tmp_dir(), "mountinfo-XXXXXX", NULL);
	fd = g_mkstemp(scene->path);
	g_assert_cmpint(fd, >=, 0);
	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(scene->path, mountinfo, -1, NULL));
	scene->loop = main_loop_new(&error);
	g_assert_no_error(error);
	scene->search = mount_search_new(scene->loop, &look, &listener);
}

static void scene_tear_down(Scene *scene, const void *data)
{
	atomic_store(&hanging_id, 0);
	mount_search_free(scene->search);
	mount_table_free(scene->mounts);
	main_loop_free(scene->loop);
	g_unlink(scene->path);
	g_free(scene->path);
}

static void search(Scene *scene)
{
	g_autoptr(GError) error = NULL;
	unsigned n_found = scene->n_found;
	int64_t end_usec = g_get_monotonic_time() + PATIENCE_USEC;

	g_assert_true(mount_search_start(scene->search, scene->path, scene->mounts, &error));
	g_assert_no_error(error);
	while (scene->n_found == n_found && g_get_monotonic_time() < end_usec) {
		g_assert_true(mount_search_runs(scene->search));
		g_assert_cmpint(sd_event_run(scene->loop->event, G_USEC_PER_SEC), >=, 0);
	}
	g_assert_cmpuint(scene->n_found, ==, n_found + 1);
	g_assert_false(mount_search_runs(scene->search));
}

static const char *dedupe_failure_of(const Scene *scene, const char *target)
{
	return mount_table_find_target(scene->mounts, target)->refusal;
}

static void test_all_are_found_and_identified_once(Scene *scene, const void *data)
{
	search(scene);
	g_assert_null(dedupe_failure_of(scene, "/one"));
	g_assert_null(dedupe_failure_of(scene, "/three"));
	search(scene);
	g_assert_cmpuint(mount_table_filesystems(scene->mounts)->len, ==, 3);
	g_assert_cmpuint(atomic_load(&n_identified), ==, 3);
}

static void test_who_hangs_is_refused_and_looked_at_by_one_thread(Scene *scene, const void *data)
{
	int64_t end_usec = g_get_monotonic_time() + PATIENCE_USEC;

	atomic_store(&hanging_id, 33);
	search(scene);
	search(scene);
	search(scene);
	g_assert_cmpuint(atomic_load(&n_looks[33]), ==, 1);
	g_assert_null(dedupe_failure_of(scene, "/one"));
	g_assert_nonnull(strstr(dedupe_failure_of(scene, "/two"), "/two does not answer"));
	g_assert_cmpstr(mount_table_find_target(scene->mounts, "/two")->uuid, ==, "");
	g_assert_null(dedupe_failure_of(scene, "/three"));
	g_assert_cmpuint(scene->n_answered, ==, 0);

	atomic_store(&hanging_id, 0);
	while (scene->n_answered == 0 && g_get_monotonic_time() < end_usec)
		g_assert_cmpint(sd_event_run(scene->loop->event, G_USEC_PER_SEC), >=, 0);
	search(scene);
	g_assert_null(dedupe_failure_of(scene, "/two"));
}

static void test_who_was_known_before_it_hangs_stays_known(Scene *scene, const void *data)
{
	search(scene);
	atomic_store(&hanging_id, 34);
	search(scene);
	g_assert_nonnull(strstr(dedupe_failure_of(scene, "/three"), "does not answer"));
	g_assert_cmpstr(mount_table_find_target(scene->mounts, "/three")->uuid, !=, "");
}

static void test_a_search_that_is_freed_finds_nothing(Scene *scene, const void *data)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(mount_search_start(scene->search, scene->path, NULL, &error));
	g_clear_pointer(&scene->search, mount_search_free);
	g_assert_cmpint(sd_event_run(scene->loop->event, G_USEC_PER_SEC / 10), >=, 0);
	g_assert_cmpuint(scene->n_found, ==, 0);
}

#define ADD(name, test) g_test_add(name, Scene, NULL, scene_set_up, test, scene_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("/mount-search/all", test_all_are_found_and_identified_once);
	ADD("/mount-search/hanging", test_who_hangs_is_refused_and_looked_at_by_one_thread);
	ADD("/mount-search/known", test_who_was_known_before_it_hangs_stays_known);
	ADD("/mount-search/freed", test_a_search_that_is_freed_finds_nothing);
	return g_test_run();
}
