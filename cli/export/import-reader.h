/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/store-import.h"

#include <stdio.h>

/*
 * ImportReader - makes stores from the lines of JSON that `dedupctl export` prints: see docs/export.md.
 *
 * A mistake in the lines of a store is an error that names the line.  Nothing of that store is imported.
 *
 * Thread: main.
 */
typedef struct ImportReader ImportReader;

/* The result for one store. */
typedef struct {
	char uuid[HASH_STORE_UUID_TEXT_BYTES];
	uint64_t n_objects;
	uint64_t n_anchors;
	char *aside; /* where the previous store lies now; NULL: there was none */
} Imported;

void imported_clear(Imported *imported);

/*
 * @file is read from its current position, and stays open.  Messages call it @name.  Stores are made in
 * @directory; with @replace, they replace existing ones.
 */
ImportReader *import_reader_new(FILE *file, const char *name, const char *directory, bool replace);
void import_reader_free(ImportReader *reader);

/*
 * Make the next store and put it in place.  *ret_found is false at the end of the file.  After an error, the
 * next call goes on with the following store, unless the file cannot be read (G_FILE_ERROR_IO).
 */
bool import_reader_next(ImportReader *reader, Imported *ret, bool *ret_found, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportReader, import_reader_free)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Imported, imported_clear)
