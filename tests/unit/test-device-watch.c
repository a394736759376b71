/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/filesystem-hold.h"
#include "common/system/lock-file.h"
#include "daemon/context/device-watch.h"
#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <unistd.h>

#define UUID "00112233-4455-6677-8899-aabbccddeeff"

/* A btrfs filesystem on md0, which lies on sda. */
typedef struct {
	Scratch *sysfs;
	DiskTopology topology;
	DeviceWatchOptions options;
	atomic_bool stop;
} Scene;

static bool locate(const char *path, FsLocation *ret)
{
	return false;
}

static void set_errors(const Scene *scene, const char *errors)
{
	g_autofree char *text =
		g_strdup_printf("write_errs 0\nread_errs %s\nflush_errs 0\n", errors);

	scratch_put(scene->sysfs, "fs/btrfs/" UUID "/devinfo/1/error_stats", text);
}

static void scene_set_up(Scene *scene, const void *data)
{
	static const uint8_t uuid[FS_UUID_BYTES] = {
		0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
		0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff
	};

	scene->sysfs = scratch_new();
	scene->topology = (DiskTopology){
		.sysfs = scene->sysfs->path,
		.dev = "/nonexistent",
		.mountinfo = "/nonexistent",
		.locate = locate,
	};
	scratch_put(scene->sysfs, "devices/sda/dev", "8:0\n");
	scratch_put(scene->sysfs, "devices/sda/stat", "0\n");
	scratch_put(scene->sysfs, "devices/md0/dev", "9:0\n");
	scratch_put(scene->sysfs, "devices/md0/md/degraded", "0\n");
	scratch_put(scene->sysfs, "devices/md0/md/sync_action", "idle\n");
	scratch_link(scene->sysfs, "devices/sda", "devices/md0/slaves/sda");
	scratch_link(scene->sysfs, "devices/md0", "fs/btrfs/" UUID "/devices/md0");
	scratch_put(scene->sysfs, "fs/btrfs/" UUID "/devinfo/1/missing", "0\n");
	set_errors(scene, "7");

	scene->options = (DeviceWatchOptions){
		.topology = &scene->topology,
		.location.is_btrfs = true,
		.fd = -1,
		.mount_point = "/srv",
	};
	for (size_t i = 0; i < FS_UUID_BYTES; i++)
		scene->options.location.fsid[i] = uuid[i];
}

static void scene_tear_down(Scene *scene, const void *data)
{
	scratch_free(scene->sysfs);
}

/* Assert what an existing watch finds, at once and at its next look. */
static void assert_trouble(DeviceWatch *watch, Scene *scene, uint64_t n_unreadable,
			   const char *expected)
{
	g_autofree char *found = device_watch_find_trouble(watch, n_unreadable);
	bool is_on_hold;
	g_autofree char *seen = device_watch_look(watch, n_unreadable, &scene->stop, &is_on_hold);

	g_assert_cmpstr(found, ==, expected);
	g_assert_cmpstr(seen, ==, expected);
}

static void test_what_is_well_goes_on(Scene *scene, const void *data)
{
	g_autoptr(DeviceWatch) watch = device_watch_new(&scene->options);

	g_assert_cmpuint(device_watch_errors(watch), ==, 7);
	assert_trouble(watch, scene, DEVICE_WATCH_UNREADABLE - 1, NULL);
}

static void test_what_fails_ends_the_pass_unless_that_does_not_matter(Scene *scene,
								      const void *data)
{
	static const struct {
		const char *name, *text, *trouble;
	} rows[] = {
		{ "devices/md0/md/degraded", "2\n", "md0 lacks 2 of its devices" },
		{ "fs/btrfs/" UUID "/devinfo/1/missing", "1\n",
		  "device 1 of the btrfs is missing" },
		{ "fs/btrfs/" UUID "/devinfo/1/error_stats", "read_errs 9\n",
		  "its devices gave 2 new errors" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(DeviceWatch) careful = device_watch_new(&scene->options);
		DeviceWatchOptions options = scene->options;
		g_autoptr(DeviceWatch) careless = NULL;
		g_autofree char *path = scratch_path(scene->sysfs, rows[i].name);
		g_autofree char *before = NULL;

		options.runs_degraded = true;
		careless = device_watch_new(&options);
		g_assert_true(g_file_get_contents(path, &before, NULL, NULL));
		scratch_put(scene->sysfs, rows[i].name, rows[i].text);
		assert_trouble(careful, scene, 0, rows[i].trouble);
		assert_trouble(careless, scene, 0, NULL);
		scratch_put(scene->sysfs, rows[i].name, before);
	}
}

static void test_unreadable_files_of_a_btrfs_alone_do_not_end_the_pass(Scene *scene,
								       const void *data)
{
	g_autoptr(DeviceWatch) watch = device_watch_new(&scene->options);
	g_autofree char *trouble = NULL;

	assert_trouble(watch, scene, DEVICE_WATCH_UNREADABLE, NULL);
	assert_trouble(watch, scene, UINT64_MAX, NULL);
	set_errors(scene, "8");
	trouble = device_watch_find_trouble(watch, 0);
	g_assert_nonnull(trouble);
}

static void test_unreadable_files_of_an_xfs_are_bounded(Scene *scene, const void *data)
{
	g_autoptr(DeviceWatch) watch = NULL;

	scene->options.location = (FsLocation){ .major = 9, .minor = 0 };
	watch = device_watch_new(&scene->options);
	assert_trouble(watch, scene, DEVICE_WATCH_UNREADABLE - 1, NULL);
	/* Without waiting for the next look. */
	assert_trouble(watch, scene, DEVICE_WATCH_UNREADABLE, "16 files could not be read");
}

static int64_t fake_usec;

static int64_t fake_now_usec(void)
{
	return fake_usec;
}

static void assert_seen(DeviceWatch *watch, Scene *scene, const char *expected)
{
	bool is_on_hold;
	g_autofree char *seen = device_watch_look(watch, 0, &scene->stop, &is_on_hold);

	g_assert_cmpstr(seen, ==, expected);
}

static void test_devices_are_looked_at_once_a_second(Scene *scene, const void *data)
{
	g_autoptr(DeviceWatch) watch = NULL;

	fake_usec = G_USEC_PER_SEC;
	scene->options.now_usec = fake_now_usec;
	watch = device_watch_new(&scene->options);
	assert_seen(watch, scene, NULL);
	set_errors(scene, "9");
	fake_usec += G_USEC_PER_SEC - 1;
	assert_seen(watch, scene, NULL);
	fake_usec++;
	assert_seen(watch, scene, "its devices gave 2 new errors");
	/* A second counts from the last look. */
	set_errors(scene, "10");
	fake_usec += G_USEC_PER_SEC - 1;
	assert_seen(watch, scene, NULL);
	fake_usec++;
	assert_seen(watch, scene, "its devices gave 3 new errors");
}

static void test_errors_that_the_last_pass_knew_do_not_count(Scene *scene, const void *data)
{
	g_autoptr(DeviceWatch) watch = device_watch_new(&scene->options);

	device_watch_set_known_errors(watch, 5);
	assert_trouble(watch, scene, 0, "its devices gave 2 new errors");
	device_watch_set_known_errors(watch, 7);
	g_assert_null(device_watch_find_trouble(watch, 0));
	/* The counters were reset. */
	set_errors(scene, "0");
	g_assert_null(device_watch_find_trouble(watch, 0));
	g_assert_cmpuint(device_watch_errors(watch), ==, 0);
}

static void test_a_disk_that_is_pulled_out_ends_the_pass_in_any_case(Scene *scene, const void *data)
{
	g_autofree char *stat = scratch_path(scene->sysfs, "devices/sda/stat");
	g_autoptr(DeviceWatch) watch = NULL;

	scene->options.runs_degraded = true;
	watch = device_watch_new(&scene->options);
	g_assert_cmpint(unlink(stat), ==, 0);
	assert_trouble(watch, scene, 0, "its disk sda is gone");
}

static void *end_resync(void *data)
{
	Scene *scene = data;

	g_usleep(G_USEC_PER_SEC / 2);
	scratch_put(scene->sysfs, "devices/md0/md/sync_action", "idle\n");
	return NULL;
}

static void test_a_resync_is_waited_for(Scene *scene, const void *data)
{
	g_autoptr(DeviceWatch) watch = device_watch_new(&scene->options);
	int64_t begun_usec = g_get_monotonic_time();
	GThread *other;
	bool is_on_hold;

	scratch_put(scene->sysfs, "devices/md0/md/sync_action", "resync\n");
	other = g_thread_new("resync", end_resync, scene);
	g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE,
			      "/srv: waiting for a resync of md0 to end");
	g_assert_null(device_watch_look(watch, 0, &scene->stop, &is_on_hold));
	g_test_assert_expected_messages();
	g_assert_cmpint(g_get_monotonic_time() - begun_usec, >=, G_USEC_PER_SEC / 2);
	g_thread_join(other);
}

static void *raise_stop(void *data)
{
	g_usleep(G_USEC_PER_SEC / 5);
	atomic_store((atomic_bool *)data, true);
	return NULL;
}

static void test_who_waits_for_a_resync_can_be_stopped(Scene *scene, const void *data)
{
	g_autoptr(DeviceWatch) watch = device_watch_new(&scene->options);
	GThread *other;
	bool is_on_hold;

	scratch_put(scene->sysfs, "devices/md0/md/sync_action", "recover\n");
	other = g_thread_new("stop", raise_stop, &scene->stop);
	g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE, "*a recovery of md0*");
	g_assert_null(device_watch_look(watch, 0, &scene->stop, &is_on_hold));
	g_test_assert_expected_messages();
	g_thread_join(other);
}

static void *end_balance(void *data)
{
	Scene *scene = data;

	g_usleep(G_USEC_PER_SEC / 2);
	scratch_put(scene->sysfs, "fs/btrfs/" UUID "/exclusive_operation", "balance paused\n");
	return NULL;
}

static void test_a_balance_is_waited_for_unless_it_is_paused(Scene *scene, const void *data)
{
	g_autoptr(DeviceWatch) watch = device_watch_new(&scene->options);
	int64_t begun_usec = g_get_monotonic_time();
	GThread *other;
	bool is_on_hold;

	scratch_put(scene->sysfs, "fs/btrfs/" UUID "/exclusive_operation", "balance\n");
	other = g_thread_new("balance", end_balance, scene);
	g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_MESSAGE,
			      "/srv: waiting for a balance of the btrfs to end");
	g_assert_null(device_watch_look(watch, 0, &scene->stop, &is_on_hold));
	g_test_assert_expected_messages();
	g_assert_cmpint(g_get_monotonic_time() - begun_usec, >=, G_USEC_PER_SEC / 2);
	g_thread_join(other);
}

static void test_who_holds_it_ends_the_pass_also_while_it_waits(Scene *scene, const void *data)
{
	g_autofree char *uuid = g_uuid_string_random();
	g_autofree char *expected = g_strdup_printf("process %d has put it on hold", (int)getpid());
	g_autofree char *lock = g_strconcat(uuid, ".hold", NULL);
	g_autofree char *path = lock_file_path(lock);
	g_autofree char *why = NULL;
	g_autoptr(DeviceWatch) watch = NULL;
	g_auto(Fd) hold = -1;
	bool is_on_hold;

	scene->options.uuid = uuid;
	watch = device_watch_new(&scene->options);
	g_assert_true(filesystem_hold(uuid, &hold, NULL));
	scratch_put(scene->sysfs, "devices/md0/md/sync_action", "resync\n");
	why = device_watch_look(watch, 0, &scene->stop, &is_on_hold);
	g_assert_cmpstr(why, ==, expected);
	g_assert_true(is_on_hold);
	g_assert_false(atomic_load(&scene->stop));
	/* Nothing fails. */
	g_assert_null(device_watch_find_trouble(watch, 0));
	unlink(path);
}

#define ADD(name, test)                                                                            \
	g_test_add("/device-watch/" name, Scene, NULL, scene_set_up, test, scene_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("well", test_what_is_well_goes_on);
	ADD("fails", test_what_fails_ends_the_pass_unless_that_does_not_matter);
	ADD("unreadable-btrfs", test_unreadable_files_of_a_btrfs_alone_do_not_end_the_pass);
	ADD("unreadable-xfs", test_unreadable_files_of_an_xfs_are_bounded);
	ADD("once-a-second", test_devices_are_looked_at_once_a_second);
	ADD("known-errors", test_errors_that_the_last_pass_knew_do_not_count);
	ADD("pulled-out", test_a_disk_that_is_pulled_out_ends_the_pass_in_any_case);
	ADD("resync", test_a_resync_is_waited_for);
	ADD("balance", test_a_balance_is_waited_for_unless_it_is_paused);
	ADD("hold", test_who_holds_it_ends_the_pass_also_while_it_waits);
	ADD("stopped", test_who_waits_for_a_resync_can_be_stopped);

	return g_test_run();
}
