/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * NameBuffer - stores names in the order of their arrival, and returns them by position.  The first megabytes
 * are in memory, the rest in a temporary file.
 *
 * Thread: the filesystem's worker.
 */
typedef struct NameBuffer NameBuffer;

NameBuffer *name_buffer_new(const char *directory);
void name_buffer_free(NameBuffer *spool);

/* Store the NUL-terminated @name, of any length; *ret_position finds it again. */
bool name_buffer_add(NameBuffer *spool, const char *name, uint64_t *ret_position, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The name at @position, NUL-terminated; valid until the next call. */
bool name_buffer_get(NameBuffer *spool, uint64_t position, const char **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(NameBuffer, name_buffer_free)
