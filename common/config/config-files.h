/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * Which files the configuration is made of, as with systemd: one file, then drop-ins out of several
 * directories, all sorted by name; of those that have one name in several directories the first
 * directory's alone.
 *
 * Thread: any.
 */
typedef struct {
	const char *file;
	const char *const *directories; /* the strongest first; NULL-terminated */
} ConfigPlaces;

/* Those of the system. */
const ConfigPlaces *config_places_standard(void);

/*
 * The paths in the order in which they are read; later ones win.  What does not exist is left out; a
 * directory that cannot be read is an error.
 */
GPtrArray *config_files_find(const ConfigPlaces *places, GError **error);
