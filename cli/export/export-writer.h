/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

#include <stdbool.h>

/*
 * ExportWriter - prints what a store knows of fingerprints on standard output, as lines of JSON: see
 * docs/export.md.
 *
 * Thread: main.
 */

/* The whole store as it stands now; what is printed ends early when standard output fails. */
bool export_write(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
