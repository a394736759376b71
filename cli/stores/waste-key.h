/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * What files are counted under when space is looked for: pure functions, and the words for them.
 *
 * All texts that are returned are to be freed with g_free(); names in them are raw bytes.
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
 * The directory of the file @path, absolute, at most @depth levels below that of @bases (texts) which it
 * lies in, the longest if in several; below "/" if in none.
 */
char *waste_key_directory(const char *path, const GPtrArray *bases, unsigned depth);

/* ".jpg", in lower case; "(none)" for a name without an ending that looks like one. */
char *waste_key_type(const char *path);

/* How long ago, in words: "7 to 30 days". */
char *waste_key_age(int64_t mtime_nsec, int64_t now_nsec);

/* The name of a user, or the number where there is none. */
char *waste_key_owner(uint32_t uid);
