/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/store-import.h"

#include <stdio.h>

/*
 * ImportReader - makes stores of the lines of JSON that `dedupctl export` prints: see docs/export.md.
 *
 * What is not right anywhere in the lines of one store is an error that says in which line, and nothing of
 * that store is taken.
 *
 * Thread: main.
 */
typedef struct ImportReader ImportReader;

/* What came of one store. */
typedef struct {
	char uuid[HASH_STORE_UUID_TEXT_BYTES];
	uint64_t n_objects;
	uint64_t n_anchors;
	char *aside; /* where the store lies that was there before; NULL: none was */
} Imported;

void imported_clear(Imported *imported);

/*
 * @file is read from where it stands, and stays open; @name is what messages call it.  Stores are made in
 * @directory, with @replace in the place of those that are there.
 */
ImportReader *import_reader_new(FILE *file, const char *name, const char *directory, bool replace);
void import_reader_free(ImportReader *reader);

/*
 * The next store, made and in its place; *ret_found is false where the file ends.  After an error the next
 * call goes on with the store after that, unless the file cannot be read (G_FILE_ERROR_IO).
 */
bool import_reader_next(ImportReader *reader, Imported *ret, bool *ret_found, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportReader, import_reader_free)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Imported, imported_clear)
