/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/io-parallelism.h"

#include "common/config/settings.h"

#define MIB (UINT64_C(1) << 20)

typedef struct {
	const char *name;
	uint32_t threads;
	bool is_rotating;
	unsigned n_processors;
	uint64_t memory_bytes;
	unsigned n_readers;
	unsigned n_sharers;
} Case;

static const Case cases[] = {
	{ "many processors", SETTINGS_THREADS_AUTO, false, 64, 24000 * MIB, 4, 4 },
	{ "one more than processors", SETTINGS_THREADS_AUTO, false, 2, 24000 * MIB, 4, 3 },
	{ "rotating", SETTINGS_THREADS_AUTO, true, 64, 24000 * MIB, 1, 1 },
	{ "unknown memory", SETTINGS_THREADS_AUTO, false, 64, UINT64_MAX, 4, 4 },
	{ "memory for four", SETTINGS_THREADS_AUTO, false, 64, 512 * MIB, 4, 4 },
	{ "memory for three", SETTINGS_THREADS_AUTO, false, 64, 512 * MIB - 1, 4, 3 },
	{ "memory for two", SETTINGS_THREADS_AUTO, false, 64, 256 * MIB, 4, 2 },
	{ "memory for one", SETTINGS_THREADS_AUTO, false, 64, 256 * MIB - 1, 4, 1 },
	{ "little memory", SETTINGS_THREADS_AUTO, false, 64, 36 * MIB, 4, 1 },
	{ "rotating, little memory", SETTINGS_THREADS_AUTO, true, 64, 36 * MIB, 1, 1 },
	{ "a number", 8, true, 1, 24000 * MIB, 8, 8 },
	{ "a number, little memory", 8, false, 1, 36 * MIB, 8, 8 },
};

static void test_disks_processors_and_memory_bound_the_threads(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const Case *at = &cases[i];
		IoParallelism chosen = io_parallelism_choose(at->threads, at->is_rotating,
							     at->n_processors, at->memory_bytes);

		g_test_message("%s", at->name);
		g_assert_true(chosen.is_rotating == at->is_rotating);
		g_assert_cmpuint(chosen.n_readers, ==, at->n_readers);
		g_assert_cmpuint(chosen.n_sharers, ==, at->n_sharers);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/io-parallelism/disks-processors-and-memory-bound-the-threads",
			test_disks_processors_and_memory_bound_the_threads);

	return g_test_run();
}
