/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/report/pass-status.h"

#include "common/mounts/filesystem-lock.h"
#include "hashstore/hash-store.h"

static ExitStatus status_of_failure(GQuark domain, int code)
{
	PassResult result = {
		.outcome = PASS_FAILED,
		.error = g_error_new_literal(domain, code, "it is a test"),
		/* An error is worse than all that was met before it. */
		.is_disk_failing = true,
		.is_on_hold = true,
	};
	ExitStatus status = pass_exit_status(&result);

	pass_result_clear(&result);
	return status;
}

static void test_an_error_is_a_failure_or_says_that_another_process_works(void)
{
	g_assert_cmpint(status_of_failure(HASH_STORE_ERROR, HASH_STORE_ERROR_IN_USE), ==,
			EXIT_STATUS_IN_USE);
	g_assert_cmpint(status_of_failure(FILESYSTEM_LOCK_ERROR, FILESYSTEM_LOCK_ERROR_IN_USE), ==,
			EXIT_STATUS_IN_USE);
	g_assert_cmpint(status_of_failure(HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT), ==,
			EXIT_STATUS_FAILED);
	g_assert_cmpint(status_of_failure(G_FILE_ERROR, HASH_STORE_ERROR_IN_USE), ==,
			EXIT_STATUS_FAILED);
}

/* Of several causes, the first of the table counts. */
static void test_the_status_is_that_of_the_gravest_cause(void)
{
	static const struct {
		bool is_disk_failing, is_on_hold, has_reason;
		uint64_t n_unreadable;
		ExitStatus status;
	} cases[] = {
		{ true, true, true, 1, EXIT_STATUS_DISK_FAILING },
		{ false, true, true, 1, EXIT_STATUS_IN_USE },
		{ false, false, true, 1, EXIT_STATUS_STOPPED },
		{ false, false, false, 1, EXIT_STATUS_UNREADABLE },
		{ false, false, false, 0, EXIT_STATUS_DONE },
	};
	char reason[] = "it is a test";

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		PassResult result = {
			.is_disk_failing = cases[i].is_disk_failing,
			.is_on_hold = cases[i].is_on_hold,
			.stopped_reason = cases[i].has_reason ? reason : NULL,
		};

		/* Files that were skipped for any other reason are no trouble. */
		for (SkipReason skip = 0; skip < SKIP_REASONS; skip++)
			result.skips.entries[skip].count = 1;
		result.skips.entries[SKIP_UNREADABLE].count = cases[i].n_unreadable;
		for (PassOutcome outcome = PASS_COMPLETE; outcome <= PASS_INTERRUPTED; outcome++) {
			result.outcome = outcome;
			g_assert_cmpint(pass_exit_status(&result), ==, cases[i].status);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pass-status/an-error",
			test_an_error_is_a_failure_or_says_that_another_process_works);
	g_test_add_func("/pass-status/the-gravest-cause",
			test_the_status_is_that_of_the_gravest_cause);
	return g_test_run();
}
