/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-result.h"

/*
 * CompressedPlaces - the files that reference compressed extents.  Each piece of a file reports its extent
 * again.
 *
 * Thread: one at a time.
 */
typedef struct CompressedPlaces CompressedPlaces;

CompressedPlaces *compressed_places_new(const EstimateTask *task);
void compressed_places_free(CompressedPlaces *places);

/* File number @file references the extent at @address, which takes @bytes on the disk. */
bool compressed_places_add(CompressedPlaces *places, uint64_t address, uint64_t bytes,
			   uint64_t file, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Count the bytes that files share with the first file of each extent.  Nothing can be added afterwards. */
bool compressed_places_count(CompressedPlaces *places, uint64_t *ret_shared_bytes, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CompressedPlaces, compressed_places_free)
