/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/terminal/table.h"
#include "hashstore/objects/history.h"

/* The files that the last pass skipped, as a table.  JSON and --verbose include all examples. */
Table *skipped_table_read(HashStore *store, const Options *options, GError **error);
