/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/spare-memory.h"

#include "tests/unit/scratch.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

typedef struct {
	const char *name;
	uint64_t total;
	uint64_t free;
	uint64_t inactive;
	uint64_t active;
	uint64_t dirty;
	uint64_t kept;
	bool is_spare;
	bool is_spare_with_generations;
} Machine;

/* In MiB. */
static const Machine machines[] = {
	{ "just started", 24000, 22000, 500, 100, 0, 0, true, true },
	{ "full of old files", 24000, 300, 20000, 2000, 0, 0, true, false },
	{ "full of our own pages", 24000, 300, 20000, 2000, 0, 19000, false, false },
	{ "half full of our own pages", 24000, 300, 20000, 2000, 0, 10000, true, false },
	{ "full of active files", 24000, 300, 2000, 20000, 0, 0, false, false },
	{ "full of programs", 24000, 300, 1000, 1000, 0, 0, false, false },
	{ "an eighth is free", 24000, 3001, 0, 0, 0, 0, true, false },
	{ "less than an eighth is free", 24000, 3000, 0, 0, 0, 0, false, false },
	{ "full of files that are being written", 24000, 300, 20000, 2000, 18000, 0, false, false },
	{ "kept pages are gone", 24000, 300, 4000, 100, 0, 23000, false, false },
	{ "small, with old files", 512, 30, 300, 50, 0, 0, true, false },
	{ "small, the active list is longer", 512, 30, 150, 250, 0, 0, false, false },
	{ "small, half and half", 2048, 50, 900, 900, 0, 0, true, false },
	{ "just started, with data that is kept", 24000, 22000, 2000, 100, 0, 2000, true, true },
	{ "an eighth and 128 MiB are free", 24000, 3129, 0, 0, 0, 0, true, true },
	{ "less than an eighth and 128 MiB is free", 24000, 3128, 0, 0, 0, 0, true, false },
	{ "a group of 128 MiB that is empty", 128, 128, 0, 0, 0, 0, true, false },
};

static char *meminfo_of(const Machine *machine)
{
	return g_strdup_printf("MemTotal:       %" G_GUINT64_FORMAT " kB\n"
			       "MemFree:        %" G_GUINT64_FORMAT " kB\n"
			       "MemAvailable:   1 kB\n"
			       "Cached:         1 kB\n"
			       "Active:         2 kB\n"
			       "Inactive:       3 kB\n"
			       "Active(anon):   4 kB\n"
			       "Inactive(anon): 5 kB\n"
			       "Active(file):   %" G_GUINT64_FORMAT " kB\n"
			       "Inactive(file): %" G_GUINT64_FORMAT " kB\n"
			       "Dirty:          %" G_GUINT64_FORMAT " kB\n"
			       "Writeback:      0 kB\n"
			       "WritebackTmp:   7 kB\n",
			       machine->total << 10, machine->free << 10, machine->active << 10,
			       machine->inactive << 10, machine->dirty << 10);
}

static void test_what_is_spare_on_each_machine(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
		g_autofree char *text = meminfo_of(&machines[i]);
		MemoryState state;

		g_test_message("%s", machines[i].name);
		g_assert_true(memory_state_parse(text, &state));
		g_assert_true(spare_memory_allows(&state, machines[i].kept * MIB) ==
			      machines[i].is_spare);
		state.has_generations = true;
		g_assert_true(spare_memory_allows(&state, machines[i].kept * MIB) ==
			      machines[i].is_spare_with_generations);
	}
}

static void test_what_lacks_a_line_is_no_state(void)
{
	static const char *const lines[] = { "MemTotal:",       "MemFree:", "Active(file):",
					     "Inactive(file):", "Dirty:",   "Writeback:" };
	g_autofree char *text = meminfo_of(&machines[0]);
	MemoryState state;

	g_assert_false(memory_state_parse("", &state));
	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_autofree char *damaged = g_strdup(text);

		*g_strstr_len(damaged, -1, lines[i]) = 'x';
		g_assert_false(memory_state_parse(damaged, &state));
	}
}

static void put_machine(const Scratch *scratch)
{
	g_autofree char *text = meminfo_of(&machines[0]);

	scratch_put(scratch, "proc/meminfo", text);
}

static void test_each_limited_group_around_the_process_counts(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GArray) states = NULL;
	const MemoryState *state;

	put_machine(scratch);
	scratch_put(scratch, "proc/self/cgroup", "0::/system.slice/dedupd.service\n");
	scratch_put(scratch, "sys/fs/cgroup/system.slice/memory.max", "max\n");
	scratch_put(scratch, "sys/fs/cgroup/system.slice/memory.high", "2147483648\n");
	scratch_put(scratch, "sys/fs/cgroup/system.slice/memory.current", "3221225472\n");
	scratch_put(scratch, "sys/fs/cgroup/system.slice/memory.stat",
		    "anon 5\nfile 6\nfile_dirty 10\nfile_writeback 1\nactive_file 8\n"
		    "inactive_file 7\n");
	scratch_put(scratch, "sys/fs/cgroup/system.slice/dedupd.service/memory.max", "268435456\n");
	scratch_put(scratch, "sys/fs/cgroup/system.slice/dedupd.service/memory.high", "max\n");
	scratch_put(scratch, "sys/fs/cgroup/system.slice/dedupd.service/memory.current",
		    "67108864\n");
	scratch_put(scratch, "sys/fs/cgroup/system.slice/dedupd.service/memory.stat",
		    "inactive_file 1000\nactive_file 2000\nfile_dirty 0\nfile_writeback 0\n");

	states = memory_states_read(scratch->path);
	g_assert_cmpuint(states->len, ==, 3);
	state = &g_array_index(states, MemoryState, 1);
	g_assert_cmpuint(state->total_bytes, ==, 256 * MIB);
	g_assert_cmpuint(state->free_bytes, ==, 192 * MIB);
	g_assert_cmpuint(state->inactive_bytes, ==, 1000);
	g_assert_cmpuint(state->active_bytes, ==, 2000);
	state = &g_array_index(states, MemoryState, 2);
	g_assert_cmpuint(state->total_bytes, ==, 2 * GIB);
	g_assert_cmpuint(state->free_bytes, ==, 0);
	g_assert_cmpuint(state->unwritten_bytes, ==, 11);
}

static void test_groups_of_version_1_count_too(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GArray) states = NULL;

	put_machine(scratch);
	scratch_put(scratch, "proc/self/cgroup",
		    "9:name=systemd:/x\n4:hugetlb,memory:/backup\n0::/y\n");
	scratch_put(scratch, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	scratch_put(scratch, "sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
	scratch_put(scratch, "sys/fs/cgroup/memory/backup/memory.limit_in_bytes", "1048576\n");
	scratch_put(scratch, "sys/fs/cgroup/memory/backup/memory.usage_in_bytes", "4096\n");
	scratch_put(scratch, "sys/fs/cgroup/memory/backup/memory.stat",
		    "inactive_file 1\ntotal_inactive_file 4\ntotal_active_file 3\ntotal_dirty 0\n"
		    "total_writeback 0\n");

	states = memory_states_read(scratch->path);
	g_assert_cmpuint(states->len, ==, 2);
	g_assert_cmpuint(g_array_index(states, MemoryState, 1).free_bytes, ==, MIB - 4096);
	g_assert_cmpuint(g_array_index(states, MemoryState, 1).inactive_bytes, ==, 4);
}

/* In a container the path is that of the host, and the mount point the container's group. */
static void put_group(const Scratch *scratch)
{
	scratch_put(scratch, "proc/self/cgroup", "0::/docker/0123\n");
	scratch_put(scratch, "sys/fs/cgroup/memory.max", "1048576\n");
	scratch_put(scratch, "sys/fs/cgroup/memory.current", "1\n");
	scratch_put(scratch, "sys/fs/cgroup/memory.stat",
		    "inactive_file 4\nactive_file 3\nfile_dirty 0\nfile_writeback 0\n");
}

static void test_a_group_whose_path_is_not_there_is_that_of_the_mount_point(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GArray) states = NULL;

	put_machine(scratch);
	put_group(scratch);

	states = memory_states_read(scratch->path);
	g_assert_cmpuint(states->len, ==, 2);
}

/* A unit with ProcSubset=pid sees only these. */
static void test_without_meminfo_the_nodes_are_summed(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	g_autoptr(GArray) states = NULL;
	const MemoryState *state;

	g_assert_null(memory_states_read(scratch->path));
	for (unsigned i = 0; i < 2; i++) {
		g_autofree char *name =
			g_strdup_printf("sys/devices/system/node/node%u/meminfo", i);
		g_autofree char *text = g_strdup_printf("Node %u MemTotal:       4096 kB\n"
							"Node %u MemFree:        1024 kB\n"
							"Node %u Active(file):    100 kB\n"
							"Node %u Inactive(file):  200 kB\n"
							"Node %u Dirty:             3 kB\n"
							"Node %u Writeback:         1 kB\n",
							i, i, i, i, i, i);

		scratch_put(scratch, name, text);
	}
	scratch_put(scratch, "sys/devices/system/node/online", "0-1\n");

	states = memory_states_read(scratch->path);
	g_assert_cmpuint(states->len, ==, 1);
	state = &g_array_index(states, MemoryState, 0);
	g_assert_cmpuint(state->total_bytes, ==, 8 * MIB);
	g_assert_cmpuint(state->free_bytes, ==, 2 * MIB);
	g_assert_cmpuint(state->inactive_bytes, ==, 400 << 10);
	g_assert_cmpuint(state->unwritten_bytes, ==, 8 << 10);
}

static void assert_generations(const Scratch *scratch, bool expected)
{
	g_autoptr(GArray) states = memory_states_read(scratch->path);

	g_assert_cmpuint(states->len, ==, 2);
	for (guint i = 0; i < states->len; i++)
		g_assert_true(g_array_index(states, MemoryState, i).has_generations == expected);
}

static void test_the_main_switch_of_generations_counts(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	put_machine(scratch);
	put_group(scratch);
	assert_generations(scratch, false);
	scratch_put(scratch, "sys/kernel/mm/lru_gen/enabled", "0x0007\n");
	assert_generations(scratch, true);
	scratch_put(scratch, "sys/kernel/mm/lru_gen/enabled", "0x0001\n");
	assert_generations(scratch, true);
	scratch_put(scratch, "sys/kernel/mm/lru_gen/enabled", "0x0006\n");
	assert_generations(scratch, false);
	scratch_put(scratch, "sys/kernel/mm/lru_gen/enabled", "0x0000\n");
	assert_generations(scratch, false);
}

static void test_pressure_is_that_of_ten_seconds(void)
{
	g_autoptr(Scratch) scratch = scratch_new();

	g_assert_cmpfloat(memory_state_pressure(scratch->path), ==, 0);
	scratch_put(scratch, "sys/fs/cgroup/memory.pressure",
		    "some avg10=1.50 avg60=9.00 avg300=0.00 total=1\n");
	g_assert_cmpfloat(memory_state_pressure(scratch->path), ==, 1.5);
	scratch_put(scratch, "proc/pressure/memory",
		    "some avg10=2.50 avg60=9.00 avg300=0.00 total=1\n"
		    "full avg10=7.00 avg60=0.00 avg300=0.00 total=1\n");
	g_assert_cmpfloat(memory_state_pressure(scratch->path), ==, 2.5);
}

static void test_this_machine_tells_its_state(void)
{
	g_autoptr(GArray) states = memory_states_read("/");

	g_assert_nonnull(states);
	for (guint i = 0; i < states->len; i++) {
		const MemoryState *state = &g_array_index(states, MemoryState, i);

		g_assert_cmpuint(state->total_bytes, >, 0);
		g_assert_cmpuint(state->free_bytes, <=, state->total_bytes);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/spare-memory/what-is-spare-on-each-machine",
			test_what_is_spare_on_each_machine);
	g_test_add_func("/spare-memory/what-lacks-a-line-is-no-state",
			test_what_lacks_a_line_is_no_state);
	g_test_add_func("/spare-memory/each-limited-group-around-the-process-counts",
			test_each_limited_group_around_the_process_counts);
	g_test_add_func("/spare-memory/groups-of-version-1-count-too",
			test_groups_of_version_1_count_too);
	g_test_add_func("/spare-memory/a-group-whose-path-is-not-there-is-that-of-the-mount-point",
			test_a_group_whose_path_is_not_there_is_that_of_the_mount_point);
	g_test_add_func("/spare-memory/without-meminfo-the-nodes-are-summed",
			test_without_meminfo_the_nodes_are_summed);
	g_test_add_func("/spare-memory/the-main-switch-of-generations-counts",
			test_the_main_switch_of_generations_counts);
	g_test_add_func("/spare-memory/pressure-is-that-of-ten-seconds",
			test_pressure_is_that_of_ten_seconds);
	g_test_add_func("/spare-memory/this-machine-tells-its-state",
			test_this_machine_tells_its_state);

	return g_test_run();
}
