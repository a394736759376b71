/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

#include <stdbool.h>

/*
 * ExportWriter - prints the fingerprints of a store on standard output, as lines of JSON: see docs/export.md.
 *
 * Thread: main.
 */

/* Print the whole store as it is now.  Printing ends early if standard output fails. */
bool export_write(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
