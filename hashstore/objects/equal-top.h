/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * EqualTop - the groups of equal objects with most to free, of any number that are added: all whose objects but
 * one have at least the bound of bytes.
 *
 * The bound rises when there are more than EQUAL_TOP_MOST groups.
 *
 * Pure.  Thread: any.
 */
#define EQUAL_TOP_MOST 8192

/* The number of groups that stay when the bound rises. */
#define EQUAL_TOP_KEPT 4096

/* A group. */
typedef struct {
	uint64_t digest;
	uint64_t size_bytes; /* of each object */
	uint64_t n_objects;  /* at most */
} EqualRow;

typedef struct {
	GArray *rows; /* EqualRow */
	uint64_t bound_bytes;
} EqualTop;

EqualTop *equal_top_new(uint64_t bound_bytes);
void equal_top_free(EqualTop *top);

/* Add the group unless it is below the bound.  A group that was added before keeps the larger number of objects. */
void equal_top_add(EqualTop *top, const EqualRow *row);

/* Let each group be there once. */
void equal_top_unite(EqualTop *top);

/* The bytes of all objects but one. */
uint64_t equal_row_spare_bytes(const EqualRow *row);

/* Negative, zero or positive: most spare bytes come first, then the lower digest, then the smaller size. */
int equal_row_compare(const void *a, const void *b);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EqualTop, equal_top_free)
