/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/disk-table.h"
#include "common/threads/thread.h"

#include <stdatomic.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* A table with sda, which rotates and has a udev name, and sdb. */
typedef struct {
	DiskTable *table;
	GPtrArray *disks;
	Config *config;
} Scene;

static Disk *disk_new(const char *name, unsigned minor, const char *id, bool is_rotating)
{
	Disk *disk = g_new0(Disk, 1);
	const char *const ids[] = { id, NULL };

	disk->name = g_strdup(name);
	disk->major = 8;
	disk->minor = minor;
	disk->ids = g_strdupv((char **)ids);
	disk->is_rotating = is_rotating;
	disk->stat_path = g_strdup("/nonexistent");
	return disk;
}

static void scene_set_up(Scene *scene, const void *data)
{
	scene->table = disk_table_new();
	scene->disks = g_ptr_array_new_with_free_func((GDestroyNotify)disk_free);
	scene->config = config_new();
	g_ptr_array_add(scene->disks, disk_new("sda", 0, "ata-Some_disk", true));
	g_ptr_array_add(scene->disks, disk_new("sdb", 16, NULL, false));
	disk_table_add(scene->table, scene->disks);
}

static void scene_tear_down(Scene *scene, const void *data)
{
	disk_table_free(scene->table);
	g_ptr_array_unref(scene->disks);
	config_free(scene->config);
}

/* As the service does, with a configuration and no options. */
static void configure(Scene *scene, const char *text, const Settings *settings)
{
	g_autoptr(GError) error = NULL;
	/* Threads use it until the table has the next one. */
	g_autoptr(Config) before G_GNUC_UNUSED = scene->config;

	scene->config = config_new();
	g_assert_true(config_add(scene->config, "test", text, strlen(text), &error));
	disk_table_configure(scene->table, scene->config, settings);
}

static void assert_shows(const Scene *scene, size_t i, const DiskRules *expected)
{
	g_autoptr(GPtrArray) views = disk_table_views(scene->table);
	const DiskView *view;

	g_assert_cmpuint(views->len, ==, 2);
	view = views->pdata[i];
	g_assert_cmpstr(view->name, ==, i == 0 ? "sda" : "sdb");
	g_assert_cmpuint(view->rules.limits.bytes, ==, expected->limits.bytes);
	g_assert_cmpuint(view->rules.limits.requests, ==, expected->limits.requests);
	g_assert_cmpint(view->rules.is_set, ==, expected->is_set);
	g_assert_cmpint(view->rules.makes_way, ==, expected->makes_way);
	g_assert_cmpint(view->rules.is_rotating, ==, expected->is_rotating);
	g_assert_cmpint(disk_table_is_rotating(scene->table, scene->disks->pdata[i]), ==,
			expected->is_rotating);
}

static void test_a_disk_that_nothing_is_said_of_is_as_the_kernel_says(Scene *scene,
								      const void *data)
{
	configure(scene, "", &(Settings){ 0 });
	assert_shows(scene, 0, &(DiskRules){ .makes_way = true, .is_rotating = true });
	assert_shows(scene, 1, &(DiskRules){ .makes_way = true });
	configure(scene, "", &(Settings){ .once = true });
	assert_shows(scene, 0, &(DiskRules){ .is_rotating = true });
}

static void test_each_disk_is_as_it_is_configured_by_any_of_its_names(Scene *scene,
								      const void *data)
{
	configure(scene,
		  "[Dedupd]\nReadRate=7M\nRotating=yes\n"
		  "[Disk /dev/disk/by-id/ata-Some_disk]\nReadRate=3M\nReadIOPS=11\nRotating=no\n"
		  "[Disk sdb]\nPressure=off\n",
		  &(Settings){ 0 });
	assert_shows(scene, 0, &(DiskRules){ .limits = { 3 * MIB, 11 }, .makes_way = true });
	assert_shows(scene, 1, &(DiskRules){ .limits = { 7 * MIB, 0 }, .is_rotating = true });

	configure(scene, "[Dedupd]\nPressure=on\n", &(Settings){ .once = true });
	assert_shows(scene, 1, &(DiskRules){ .makes_way = true });
}

static void test_the_command_line_wins(Scene *scene, const void *data)
{
	const Settings settings = { .pressure = PRESSURE_OFF, .rotating = ROTATING_NO };

	configure(scene, "[Disk sda]\nPressure=on\nRotating=yes\n", &settings);
	assert_shows(scene, 0, &(DiskRules){ 0 });
}

static void test_what_was_set_stays_whatever_is_configured(Scene *scene, const void *data)
{
	const DiskLimits limits = { 5 * MIB, 0 };

	configure(scene, "[Dedupd]\nReadRate=7M\nReadIOPS=9\nRotating=no\n", &(Settings){ 0 });
	g_assert_true(disk_table_set_limits(scene->table, "/dev/sda", &limits));
	assert_shows(scene, 0, &(DiskRules){ .limits = limits, .is_set = true, .makes_way = true });
	assert_shows(scene, 1, &(DiskRules){ .limits = { 7 * MIB, 9 }, .makes_way = true });

	configure(scene, "[Dedupd]\nReadRate=1M\nRotating=no\n", &(Settings){ 0 });
	assert_shows(scene, 0, &(DiskRules){ .limits = limits, .is_set = true, .makes_way = true });
	assert_shows(scene, 1, &(DiskRules){ .limits = { MIB, 0 }, .makes_way = true });

	g_assert_true(disk_table_set_limits(scene->table, "ata-Some_disk", &(DiskLimits){ 0 }));
	assert_shows(scene, 0, &(DiskRules){ .is_set = true, .makes_way = true });
}

static void test_a_disk_that_is_not_known_is_not_set(Scene *scene, const void *data)
{
	g_assert_false(disk_table_set_limits(scene->table, "sdc", &(DiskLimits){ MIB, 0 }));
	g_assert_false(disk_table_set_limits(scene->table, "", &(DiskLimits){ MIB, 0 }));
	g_assert_false(disk_table_set_limits(scene->table, "/dev/", &(DiskLimits){ MIB, 0 }));
	assert_shows(scene, 0, &(DiskRules){ .is_rotating = true });
}

#define READERS 3

typedef struct {
	DiskTable *table;
	GPtrArray *disks; /* that the table does not know at first */
	atomic_uint n_reading;
	atomic_bool is_over;
} Shared;

/* Limits are set so that there is a request per MiB. */
static void assert_are_whole(const Shared *shared)
{
	g_autoptr(GPtrArray) views = disk_table_views(shared->table);

	g_assert_cmpuint(views->len, >=, 2);
	for (guint i = 0; i < views->len; i++) {
		const DiskView *view = views->pdata[i];

		g_assert_cmpuint(view->rules.limits.bytes, ==, view->rules.limits.requests * MIB);
	}
}

static void *use_table(void *data)
{
	Shared *shared = data;

	do {
		disk_table_add(shared->table, shared->disks);
		for (guint i = 0; i < shared->disks->len; i++)
			g_assert_false(
				disk_table_is_rotating(shared->table, shared->disks->pdata[i]));
		assert_are_whole(shared);
		atomic_fetch_add(&shared->n_reading, 1);
	} while (!atomic_load(&shared->is_over));
	return NULL;
}

static void test_threads_use_the_table_while_main_sets_limits(Scene *scene, const void *data)
{
	g_autoptr(GPtrArray) unknown = g_ptr_array_new_with_free_func((GDestroyNotify)disk_free);
	Shared shared = { .table = scene->table, .disks = unknown };
	g_autoptr(GPtrArray) views = NULL;
	GThread *threads[READERS];

	for (unsigned i = 0; i < 20; i++) {
		g_autofree char *name = g_strdup_printf("sdx%u", i);

		g_ptr_array_add(unknown, disk_new(name, 100 + i, NULL, false));
	}
	for (size_t i = 0; i < READERS; i++)
		threads[i] = thread_new("user", use_table, &shared, NULL);
	for (uint64_t i = 1; i < 1000 || atomic_load(&shared.n_reading) < READERS; i++) {
		const DiskLimits limits = { i * MIB, i };

		g_assert_true(disk_table_set_limits(scene->table, "sda", &limits));
		if (i % 100 == 0)
			configure(scene, "[Disk sdb]\nReadRate=3M\nReadIOPS=3\n", &(Settings){ 0 });
	}
	atomic_store(&shared.is_over, true);
	for (size_t i = 0; i < READERS; i++)
		g_thread_join(threads[i]);

	/* Each disk once, whoever met it first. */
	views = disk_table_views(scene->table);
	g_assert_cmpuint(views->len, ==, 2 + unknown->len);
}

#define ADD(name, test)                                                                            \
	g_test_add("/disk-table/" name, Scene, NULL, scene_set_up, test, scene_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("as-the-kernel-says", test_a_disk_that_nothing_is_said_of_is_as_the_kernel_says);
	ADD("as-it-is-configured", test_each_disk_is_as_it_is_configured_by_any_of_its_names);
	ADD("the-command-line-wins", test_the_command_line_wins);
	ADD("what-was-set-stays", test_what_was_set_stays_whatever_is_configured);
	ADD("not-known", test_a_disk_that_is_not_known_is_not_set);
	ADD("threads-use-the-table", test_threads_use_the_table_while_main_sets_limits);

	return g_test_run();
}
