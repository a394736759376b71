/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/settings.h"

/*
 * RunRequest - a pass over some directories or files of a filesystem, that somebody asked the service for
 * once, with wishes of his own: what the configuration says of the filesystem holds but for these.
 *
 * Wishes are about which files are looked at, and whether anything is shared at all: nobody can ask more of
 * disks than the service does.
 *
 * Set when made, never changed.  Thread: main.
 */
typedef struct {
	char **paths; /* absolute */
	Settings *settings;
} RunRequest;

/* What one may have of each. */
#define RUN_PATHS_MOST  1024
#define RUN_WISHES_MOST 64

/*
 * @paths, each absolute, have to lie on the filesystem @uuid; @wishes are "name=value", or "name" for what has
 * no value: of options of dedupd(8), without the dashes.  Both are NULL-terminated and borrowed.  Nothing
 * is held open afterwards.
 */
RunRequest *run_request_new(const Settings *settings, const char *uuid, char *const *paths,
			    char *const *wishes, GError **error);
void run_request_free(RunRequest *request);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunRequest, run_request_free)
