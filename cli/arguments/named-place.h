/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * NamedPlace - a command line argument that names a filesystem or a directory.  A directory means the files
 * below it.  Anything else is the name of a filesystem.
 *
 * Thread: main.
 */
typedef struct {
	char *filesystem; /* its UUID, or the name as typed */
	char *below;      /* absolute, without links; NULL: all of the filesystem */
} NamedPlace;

/* Frees the members. */
void named_place_clear(NamedPlace *place);

/* The error is for people. */
bool named_place_read(const char *typed, NamedPlace *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The directory as an absolute path without links, to be freed with g_free(). */
char *named_directory_path(const char *typed, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(NamedPlace, named_place_clear)
