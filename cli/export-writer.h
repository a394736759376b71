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

#define EXPORT_SCHEMA  "dedupctl-export"
#define EXPORT_VERSION 1

/* Places that one line has at most. */
#define EXPORT_PLACES_MOST 4096

/* The whole store as it stands now; what is printed ends early when standard output fails. */
bool export_write(HashStore *store, GError **error) G_GNUC_WARN_UNUSED_RESULT;
