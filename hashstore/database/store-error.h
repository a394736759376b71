/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

#define HASH_STORE_ERROR (hash_store_error_quark())
GQuark hash_store_error_quark(void);

typedef enum {
	HASH_STORE_ERROR_ABSENT,  /* no such store */
	HASH_STORE_ERROR_FOREIGN, /* the file is not a store of dedupd, or of another filesystem */
	HASH_STORE_ERROR_NEWER,   /* written by a newer dedupd */
	HASH_STORE_ERROR_CORRUPT, /* damaged: --rebuild moves it aside */
	HASH_STORE_ERROR_IN_USE,  /* another process writes it */
	HASH_STORE_ERROR_FULL,    /* no space left, or no permission to write */
	HASH_STORE_ERROR_FAILED,
} HashStoreError;
