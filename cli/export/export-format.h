/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ExportFormat - the common parts of all lines of `dedupctl export`: see docs/export.md.
 *
 * Errors in a line that is read are G_FILE_ERROR_INVAL.
 *
 * Thread: any.
 */
#define EXPORT_SCHEMA  "dedupctl-export"
#define EXPORT_VERSION 1

/* The maximum number of places in one line. */
#define EXPORT_PLACES_MOST 4096

/* Longer texts are left out.  Only "path" may be left out. */
#define EXPORT_TEXT_MOST ((size_t)16 << 10)

/* Digests: 16 hexadecimal digits. */
json_t *export_digest_new(uint64_t digest);
bool export_digest_read(const json_t *json, uint64_t *ret);

/* Read @name of @line, a whole number from 0 to @most.  It is 0 if @line does not have it. */
bool export_number_read(const json_t *line, const char *name, uint64_t most, uint64_t *ret,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The text @name of @line, which is required. */
const char *export_text_read(const json_t *line, const char *name, GError **error);

/* Set the error of a line.  Returns false. */
bool export_refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Set the error that @name is not @wanted.  Returns false. */
bool export_set_wrong(const char *name, const char *wanted, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(json_t, json_decref)
