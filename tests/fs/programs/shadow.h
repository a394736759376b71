/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Shadow - what a file must hold, kept in memory and so outside of any filesystem.
 *
 * Copies share the blocks that they have in common, so that a snapshot costs next to nothing.
 *
 * Thread: one, for a Shadow and all that was copied or cloned from it.
 */
typedef struct Shadow Shadow;

#define SHADOW_BLOCK_BYTES 4096

/* A file of no bytes. */
Shadow *shadow_new(void);
Shadow *shadow_copy(const Shadow *shadow);
void shadow_free(Shadow *shadow);

uint64_t shadow_size(const Shadow *shadow);

/* As ftruncate(2). */
void shadow_resize(Shadow *shadow, uint64_t size_bytes);

/* As pwrite(2). */
void shadow_write(Shadow *shadow, uint64_t offset, const void *data, uint64_t length);

/* Make what is there of a range zeros; the size stays. */
void shadow_clear(Shadow *shadow, uint64_t offset, uint64_t length);

/* Have a range of @shadow hold what one of @from, which lies in it, does.  Offsets are those of blocks. */
void shadow_clone(Shadow *shadow, uint64_t offset, const Shadow *from, uint64_t from_offset,
		  uint64_t length);

/* The bytes of a range that lies in the file. */
void shadow_read(const Shadow *shadow, uint64_t offset, uint64_t length, uint8_t *ret);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Shadow, shadow_free)
