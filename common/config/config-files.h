/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * ConfigFiles - finds the files of the configuration, as systemd does: one file, then drop-ins from several
 * directories, all sorted by name.  A drop-in hides those of the same name in weaker directories.
 *
 * Thread: any.
 */
typedef struct {
	const char *file;
	const char *const *directories; /* the strongest first; NULL-terminated */
} ConfigPlaces;

/* The places of the system. */
const ConfigPlaces *config_places_standard(void);

/* The existing paths in reading order; later ones win.  A directory that cannot be read is an error. */
GPtrArray *config_files_find(const ConfigPlaces *places, GError **error);
