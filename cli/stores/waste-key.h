/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * WasteKey - the keys under which wasted space is counted.  The functions are pure.
 *
 * Returned texts are to be freed with g_free().  Names in them are raw bytes.
 *
 * Thread: any.
 */
typedef enum {
	WASTE_BY_DIRECTORY,
	WASTE_BY_OWNER,
	WASTE_BY_AGE,
	WASTE_BY_TYPE,
	WASTE_BY_SUBVOLUME,
} WasteBy;

/* In the order of WasteBy, NULL-terminated. */
extern const char *const waste_by_names[];

/*
 * The directory of the file @path (absolute), cut to @depth levels below the directory of @bases (texts) in
 * which it lies.  The longest base counts if several match; "/" if none does.
 */
char *waste_key_directory(const char *path, const GPtrArray *bases, unsigned depth);

/* ".jpg", in lower case; "(none)" for a name without a plausible extension. */
char *waste_key_type(const char *path);

/* The age in words: "7 to 30 days". */
char *waste_key_age(int64_t mtime_nsec, int64_t now_nsec);

/* The name of a user, or the number if there is no name. */
char *waste_key_owner(uint32_t uid);
