/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/pass-memory.h"

#include "tests/unit/scratch.h"

#define MIB (UINT64_C(1) << 20)

typedef struct {
	Scratch *scratch;
	Settings *settings;
} Scene;

static void set_up(Scene *scene, const void *data)
{
	scene->scratch = scratch_new();
	scene->settings = settings_new();
	scene->settings->memory_bytes = 64 * MIB;
	scratch_put(scene->scratch, "proc/meminfo",
		    "MemTotal: 2097152 kB\nMemFree: 1000000 kB\nActive(file): 0 kB\n"
		    "Inactive(file): 0 kB\nDirty: 0 kB\nWriteback: 0 kB\n");
}

static void tear_down(Scene *scene, const void *data)
{
	settings_unref(scene->settings);
	scratch_free(scene->scratch);
}

/* How many passes may run at a time; all of them begin. */
static unsigned begin_all(PassMemory *memory, const Settings *settings)
{
	unsigned n = 0;

	while (n < 100 && pass_memory_has_room(memory, settings)) {
		g_assert_cmpuint(pass_memory_take(memory, settings), ==,
				 2 * settings->memory_bytes);
		n++;
	}
	return n;
}

static void test_passes_get_a_quarter_of_the_machine(Scene *scene, const void *data)
{
	PassMemory *memory = pass_memory_new(scene->scratch->path);

	g_assert_cmpuint(begin_all(memory, scene->settings), ==, 4);
	pass_memory_give_back(memory, 128 * MIB);
	g_assert_cmpuint(begin_all(memory, scene->settings), ==, 1);
	pass_memory_free(memory);
}

static void test_passes_get_three_quarters_of_the_service(Scene *scene, const void *data)
{
	PassMemory *memory;

	scratch_put(scene->scratch, "proc/self/cgroup", "0::/dedupd.service\n");
	scratch_put(scene->scratch, "sys/fs/cgroup/dedupd.service/memory.max", "536870912\n");
	scratch_put(scene->scratch, "sys/fs/cgroup/dedupd.service/memory.current", "1048576\n");
	scratch_put(scene->scratch, "sys/fs/cgroup/dedupd.service/memory.stat",
		    "inactive_file 0\nactive_file 0\nfile_dirty 0\nfile_writeback 0\n");
	memory = pass_memory_new(scene->scratch->path);
	g_assert_cmpuint(begin_all(memory, scene->settings), ==, 3);
	pass_memory_free(memory);
}

static void test_one_pass_may_always_run(Scene *scene, const void *data)
{
	PassMemory *memory = pass_memory_new(scene->scratch->path);

	scene->settings->memory_bytes = UINT64_C(1) << 40;
	g_assert_true(pass_memory_has_room(memory, scene->settings));
	pass_memory_take(memory, scene->settings);
	scene->settings->memory_bytes = 4 * MIB;
	g_assert_false(pass_memory_has_room(memory, scene->settings));
	pass_memory_free(memory);
}

static void test_without_a_limit_any_may(Scene *scene, const void *data)
{
	g_autoptr(Scratch) empty = scratch_new();
	PassMemory *unknown = pass_memory_new(empty->path);

	g_assert_cmpuint(begin_all(unknown, scene->settings), ==, 100);
	pass_memory_free(unknown);
	g_assert_true(pass_memory_has_room(NULL, scene->settings));
	g_assert_cmpuint(pass_memory_take(NULL, scene->settings), ==, 0);
	pass_memory_give_back(NULL, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/pass-memory/" name, Scene, NULL, set_up, test, tear_down)
	ADD("passes-get-a-quarter-of-the-machine", test_passes_get_a_quarter_of_the_machine);
	ADD("passes-get-three-quarters-of-the-service",
	    test_passes_get_three_quarters_of_the_service);
	ADD("one-pass-may-always-run", test_one_pass_may_always_run);
	ADD("without-a-limit-any-may", test_without_a_limit_any_may);

	return g_test_run();
}
