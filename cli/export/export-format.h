/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExportFormat - what all lines of `dedupctl export` have in common: see docs/export.md.
 *
 * Errors are G_FILE_ERROR_INVAL, of the line that is read.
 *
 * Thread: any.
 */
#define EXPORT_SCHEMA  "dedupctl-export"
#define EXPORT_VERSION 1

/* Places that one line has at most. */
#define EXPORT_PLACES_MOST 4096

/* What is longer is left out: "path" alone may be. */
#define EXPORT_TEXT_MOST ((size_t)16 << 10)

/* Digests: 16 hexadecimal digits. */
json_t *export_digest_new(uint64_t digest);
bool export_digest_read(const json_t *json, uint64_t *ret);

/* A whole number from 0 to @most that @line has as @name, 0 if it has none. */
bool export_number_read(const json_t *line, const char *name, uint64_t most, uint64_t *ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The text that @line has as @name, which must not lack. */
const char *export_text_read(const json_t *line, const char *name, GError **error);

/* False, with the error that @name is not @wanted. */
bool export_set_wrong(const char *name, const char *wanted, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(json_t, json_decref)
