/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/failing-store.h"

#include "hashstore/anchors/segments.h"
#include "hashstore/database/store-state.h"
#include "tests/unit/failing-call.h"

#include <dlfcn.h>
#include <sqlite3.h>

int sqlite3_step(sqlite3_stmt *statement)
{
	static int (*real)(sqlite3_stmt *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sqlite3_step");
	/* SQLite's own statements have no text. */
	return sqlite3_sql(statement) && failing_call_is_now() ? SQLITE_IOERR : real(statement);
}

int sqlite3_prepare_v3(sqlite3 *database, const char *sql, int length, unsigned flags,
		       sqlite3_stmt **ret, const char **ret_tail)
{
	static int (*real)(sqlite3 *, const char *, int, unsigned, sqlite3_stmt **, const char **);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sqlite3_prepare_v3");
	*ret = NULL;
	return failing_call_is_now() ? SQLITE_NOMEM
				     : real(database, sql, length, flags, ret, ret_tail);
}

/* As if nothing had failed.  What the step did up to then is forgotten. */
static void mend(HashStore *store)
{
	store->failed = false;
	g_assert_true(hash_store_roll_back(store, NULL));
}

void failing_store_try(HashStore *store, FailingStep *step, void *data)
{
	unsigned n_errors = 0;
	bool has_failed = true;

	g_assert_true(hash_store_commit(store, NULL));
	for (unsigned number = 1; has_failed; number++) {
		g_autoptr(GError) error = NULL;
		bool done;

		failing_call_arm(number);
		done = step(data, &error);
		has_failed = failing_call_has_failed();
		failing_call_arm(0);
		g_test_message("call %u: %s", number, error ? error->message : "no error");
		g_assert_cmpint(done, ==, error == NULL);
		g_assert_true(done || has_failed);
		n_errors += !done;
		if (has_failed)
			mend(store);
	}

	g_assert_cmpuint(n_errors, >, 0);
}
