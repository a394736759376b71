/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/database.h"

#include <stdatomic.h>

/*
 * Checkpoint - copies the WAL into the database and empties it, as far as readers allow; it does not wait for
 * them.
 *
 * A large one takes many seconds.  It ends early when @stop (may be NULL) is raised: the WAL then stays as it
 * was.
 *
 * Thread: the connection's.
 */
bool checkpoint_run(Database *database, const atomic_bool *stop, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
