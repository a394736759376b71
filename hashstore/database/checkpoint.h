/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/database.h"

#include <stdatomic.h>

/*
 * Checkpoint - puts the WAL into the database and empties it, as far as readers let it: they are not
 * waited for.
 *
 * A large one takes many seconds.  When @stop, which may be NULL, is raised it ends early: the WAL
 * stays, as if none had been begun.
 *
 * Thread: the connection's.
 */
bool checkpoint_run(Database *database, const atomic_bool *stop, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
