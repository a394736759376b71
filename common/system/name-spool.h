/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * NameSpool - names put aside in the order met and fetched again by their position: the first few
 * megabytes in memory, the rest in a temporary file.
 *
 * Thread: the filesystem's worker.
 */
typedef struct NameSpool NameSpool;

NameSpool *name_spool_new(const char *directory);
void name_spool_free(NameSpool *spool);

/* Keep the NUL-terminated @name, of whatever length; *ret_position is where to find it. */
bool name_spool_add(NameSpool *spool, const char *name, uint64_t *ret_position, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The name at @position, NUL-terminated; valid until the next call. */
bool name_spool_get(NameSpool *spool, uint64_t position, const char **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(NameSpool, name_spool_free)
