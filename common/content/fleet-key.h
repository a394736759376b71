/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * FleetKey - the key that stores of several machines have in common, so that their digests can be compared.
 *
 * It is the secret of these stores.  Its file has the secret as 384 hexadecimal digits, and belongs to root or
 * to the user of this process.  Nobody else may read or write it.
 *
 * Errors are G_FILE_ERROR, and name the file.  Thread: any.
 */
typedef struct {
	uint8_t secret[HASH_STORE_SECRET_BYTES];
	char id[HASH_STORE_KEY_TEXT_BYTES]; /* the beginning of its SHA-256: tells keys apart, and may be shown */
} FleetKey;

#define FLEET_KEY_FILE "/etc/dedupd/fleet.key"

/* Parse the 384 hexadecimal digits of a secret at @text. */
bool fleet_key_parse(const char *text, uint8_t ret[HASH_STORE_SECRET_BYTES]);

bool fleet_key_read(const char *path, FleetKey *ret, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/*
 * Write a new random key to @path, with mode 0600.  Unless @replace, an existing file is an error
 * (G_FILE_ERROR_EXIST), and stays.
 */
bool fleet_key_make(const char *path, bool replace, FleetKey *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Overwrite the key in memory. */
void fleet_key_clear(FleetKey *key);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FleetKey, fleet_key_clear)
