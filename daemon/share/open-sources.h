/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/share/open-object.h"

/*
 * OpenSources - sources of runs, of which the latest stay open.
 *
 * One thread uses a source at a time: a file that were opened twice would seem to be in use by another process.
 *
 * Thread: the one whose turn it is (pass.h).
 */
typedef struct OpenSources OpenSources;

/* Both are borrowed. */
OpenSources *open_sources_new(Pass *pass, FileOpener *opener);
void open_sources_free(OpenSources *sources);

bool open_sources_is_in_use(const OpenSources *sources, uint32_t id);

/* Find the source @id, which is not in use, or open it.  It is in use until open_sources_give_back(). */
bool open_sources_take(OpenSources *sources, uint32_t id, OpenObject **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* NULL: nothing. */
void open_sources_give_back(OpenSources *sources, const OpenObject *source);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(OpenSources, open_sources_free)
