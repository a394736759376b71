/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/pass-conditions.h"

#include "common/mounts/filesystem-lock.h"
#include "common/system/lock-file.h"
#include "kernel-ioctl/call/fd.h"
#include "tests/unit/scratch.h"

#include <unistd.h>

#define MINUTE (INT64_C(60) * 1000000)

static const FsLocation on_md0 = { .major = 9, .minor = 0 };

/* An XFS filesystem on md0, which lies on sda, which rotates. */
typedef struct {
	Scratch *sysfs;
	DiskTopology topology;
	DiskTable *table;
	PassConditions *conditions;
	GPtrArray *disks;
} Scene;

static bool locate(const char *path, FsLocation *ret)
{
	return false;
}

static void scene_set_up(Scene *scene, const void *data)
{
	scene->sysfs = scratch_new();
	scene->topology = (DiskTopology){
		.sysfs = scene->sysfs->path,
		.dev = "/nonexistent",
		.mountinfo = "/nonexistent",
		.locate = locate,
	};
	scratch_put(scene->sysfs, "devices/sda/dev", "8:0\n");
	scratch_put(scene->sysfs, "devices/sda/queue/rotational", "1\n");
	scratch_put(scene->sysfs, "devices/sda/stat", "10 0 80 0 5 0 40 0 0 0 0\n");
	scratch_put(scene->sysfs, "devices/md0/dev", "9:0\n");
	scratch_put(scene->sysfs, "devices/md0/md/degraded", "0\n");
	scratch_put(scene->sysfs, "devices/md0/md/sync_action", "idle\n");
	scratch_link(scene->sysfs, "devices/sda", "devices/md0/slaves/sda");
	scratch_link(scene->sysfs, "devices/md0", "dev/block/9:0");
	scene->table = disk_table_new();
	scene->conditions = pass_conditions_new(scene->table);
	scene->disks = disk_topology_find(&scene->topology, &on_md0);
	g_assert_cmpuint(scene->disks->len, ==, 1);
}

static void scene_tear_down(Scene *scene, const void *data)
{
	g_ptr_array_unref(scene->disks);
	pass_conditions_free(scene->conditions);
	disk_table_free(scene->table);
	scratch_free(scene->sysfs);
}

static ScheduleState look(const Scene *scene, int64_t now_usec)
{
	ScheduleState state = { .now_usec = now_usec };

	pass_conditions_look(scene->conditions, &scene->topology, &on_md0, scene->disks, &state);
	return state;
}

static void test_of_what_is_well_nothing_is_said(Scene *scene, const void *data)
{
	ScheduleState state = look(scene, MINUTE);

	g_assert_false(state.is_degraded || state.is_in_work || state.is_on_battery ||
		       state.is_disk_asleep);
	g_assert_null(pass_conditions_text(scene->conditions, WAIT_DEGRADED));
	g_assert_null(pass_conditions_text(scene->conditions, WAIT_MAINTENANCE));
}

static void test_what_lacks_or_works_is_told_as_long_as_it_does(Scene *scene, const void *data)
{
	ScheduleState state;

	scratch_put(scene->sysfs, "devices/md0/md/degraded", "1\n");
	scratch_put(scene->sysfs, "devices/md0/md/sync_action", "recover\n");
	state = look(scene, MINUTE);
	g_assert_true(state.is_degraded && state.is_in_work);
	g_assert_cmpstr(pass_conditions_text(scene->conditions, WAIT_DEGRADED), ==,
			"md0 lacks 1 of its devices");
	g_assert_cmpstr(pass_conditions_text(scene->conditions, WAIT_MAINTENANCE), ==,
			"a recovery of md0 is going on");

	scratch_put(scene->sysfs, "devices/md0/md/degraded", "0\n");
	scratch_put(scene->sysfs, "devices/md0/md/sync_action", "idle\n");
	state = look(scene, MINUTE);
	g_assert_false(state.is_degraded || state.is_in_work);
	g_assert_null(pass_conditions_text(scene->conditions, WAIT_DEGRADED));
}

static void test_a_disk_sleeps_after_ten_minutes_of_nothing(Scene *scene, const void *data)
{
	g_assert_false(look(scene, 1 * MINUTE).is_disk_asleep);
	g_assert_false(look(scene, 11 * MINUTE - 1).is_disk_asleep);
	g_assert_true(look(scene, 11 * MINUTE).is_disk_asleep);
	/* One request. */
	scratch_put(scene->sysfs, "devices/sda/stat", "10 0 80 0 6 0 48 0 0 0 0\n");
	g_assert_false(look(scene, 50 * MINUTE).is_disk_asleep);
	g_assert_true(look(scene, 60 * MINUTE).is_disk_asleep);
}

static void test_a_disk_that_does_not_turn_does_not_sleep(Scene *scene, const void *data)
{
	const Settings settings = { .rotating = ROTATING_NO };
	g_autoptr(Config) config = config_new();

	disk_table_configure(scene->table, config, &settings);
	look(scene, 1 * MINUTE);
	g_assert_false(look(scene, 100 * MINUTE).is_disk_asleep);
}

static void test_a_disk_that_is_gone_does_not_sleep(Scene *scene, const void *data)
{
	g_autofree char *stat = scratch_path(scene->sysfs, "devices/sda/stat");

	look(scene, 1 * MINUTE);
	g_assert_cmpint(unlink(stat), ==, 0);
	g_assert_false(look(scene, 100 * MINUTE).is_disk_asleep);
}

static void test_the_machine_is_on_battery_if_nothing_else_gives_power(Scene *scene,
								       const void *data)
{
	static const struct {
		const char *name, *text;
		bool is_on_battery; /* from then on */
	} steps[] = {
		{ "AC/type", "Mains\n", false },
		{ "AC/online", "0\n", false },
		{ "hidpp_battery_0/type", "Battery\n", false },
		{ "hidpp_battery_0/scope", "Device\n", false },
		{ "hidpp_battery_0/status", "Discharging\n", false },
		{ "BAT0/type", "Battery\n", false },
		{ "BAT0/status", "Full\n", false },
		{ "BAT0/status", "Discharging\n", true },
		{ "AC/online", "1\n", false },
		{ "AC/online", "0\n", true },
		{ "ucsi-source-psy-1/type", "USB\n", true },
		{ "ucsi-source-psy-1/online", "1\n", false },
		{ "ucsi-source-psy-1/online", "0\n", true },
		{ "BAT0/status", "Not charging\n", false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		g_autofree char *name = g_build_filename("class/power_supply", steps[i].name, NULL);

		scratch_put(scene->sysfs, name, steps[i].text);
		g_assert_cmpint(look(scene, MINUTE).is_on_battery, ==, steps[i].is_on_battery);
	}
}

/* Look closer at the filesystem @uuid, which no disk hinders. */
static ScheduleState look_closer(const Scene *scene, const char *uuid)
{
	ScheduleState state = look(scene, MINUTE);

	pass_conditions_look_closer(scene->conditions, uuid, false, &state);
	return state;
}

static void test_who_works_on_it_is_named_as_long_as_they_do(Scene *scene, const void *data)
{
	g_autofree char *uuid = g_uuid_string_random();
	g_autofree char *path = lock_file_path(uuid);
	g_autofree char *expected = g_strdup_printf("process %d works on it", getpid());
	g_auto(Fd) fd = -1;

	g_assert_true(filesystem_lock(uuid, &fd, NULL));
	g_assert_true(look_closer(scene, uuid).is_held);
	g_assert_cmpstr(pass_conditions_text(scene->conditions, WAIT_LOCKED), ==, expected);

	fd_close(&fd);
	g_assert_false(look_closer(scene, uuid).is_held);
	g_assert_null(pass_conditions_text(scene->conditions, WAIT_LOCKED));
	g_assert_cmpint(unlink(path), ==, 0);
}

#define ADD(name, test)                                                                            \
	g_test_add("/pass-conditions/" name, Scene, NULL, scene_set_up, test, scene_tear_down)

int main(int argc, char **argv)
{
	g_autoptr(Scratch) locks = scratch_new();

	/* The test cannot choose the directory of root's locks. */
	g_setenv("XDG_RUNTIME_DIR", locks->path, true);
	g_test_init(&argc, &argv, NULL);

	ADD("well", test_of_what_is_well_nothing_is_said);
	ADD("lacks-or-works", test_what_lacks_or_works_is_told_as_long_as_it_does);
	ADD("asleep", test_a_disk_sleeps_after_ten_minutes_of_nothing);
	ADD("does-not-turn", test_a_disk_that_does_not_turn_does_not_sleep);
	ADD("gone", test_a_disk_that_is_gone_does_not_sleep);
	ADD("locked", test_who_works_on_it_is_named_as_long_as_they_do);
	ADD("battery", test_the_machine_is_on_battery_if_nothing_else_gives_power);

	return g_test_run();
}
