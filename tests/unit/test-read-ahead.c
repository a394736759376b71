/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/read-ahead.h"
#include "tests/unit/pass-fixture.h"

#include <malloc.h>
#include <unistd.h>

#define ROUNDS 20

/* Less than the buffers of one round take. */
#define SLACK_BYTES_PER_ROUND (UINT64_C(1) << 20)

/* The address space of this process. */
static uint64_t mapped_bytes(void)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;

	g_file_get_contents("/proc/self/statm", &text, NULL, &error);
	g_assert_no_error(error);
	return g_ascii_strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Begin and end reading files, of which there are none. */
static void read_nothing(PassFixture *fixture)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(ReadList) list = read_list_new(&fixture->pass, fixture->opener);
	g_autoptr(BlockSums) sums = block_sums_new(hash_store_about(fixture->pass.store), NULL);
	g_autoptr(ReadAhead) ahead = NULL;
	FileJob *job;

	g_assert_true(read_list_sort(list, &error));
	ahead = read_ahead_new(&fixture->pass, list, fixture->opener, sums, 4, &error);
	g_assert_no_error(error);
	g_assert_true(read_ahead_next(ahead, &job, &error));
	g_assert_null(job);
	g_assert_cmpuint(read_ahead_end(ahead), ==, 0);
}

/* The service has pass after pass. */
static void test_the_buffers_are_given_back(void)
{
	g_autoptr(PassFixture) fixture = pass_fixture_new();
	uint64_t before;

	/* Stacks of threads are kept. */
	for (int i = 0; i < ROUNDS; i++)
		read_nothing(fixture);
	before = mapped_bytes();
	for (int i = 0; i < ROUNDS; i++)
		read_nothing(fixture);
	g_assert_cmpuint(mapped_bytes(), <, before + ROUNDS * SLACK_BYTES_PER_ROUND);
}

int main(int argc, char **argv)
{
#ifdef M_ARENA_MAX
	/* Each arena of the heap reserves more than the slack. */
	mallopt(M_ARENA_MAX, 1);
#endif
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read-ahead/the-buffers-are-given-back", test_the_buffers_are_given_back);
	return g_test_run();
}
