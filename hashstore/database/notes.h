/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/store.h"

/* Notes are small named values, for example the policy under which all objects were settled. */
bool hash_store_get_note(HashStore *store, const char *name, char **ret_text, GError **error)
	G_GNUC_WARN_UNUSED_RESULT; /* *ret_text is NULL when there is none */
bool hash_store_set_note(HashStore *store, const char *name, const char *text, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* The same for numbers; 0 if there is none. */
bool hash_store_get_number(HashStore *store, const char *name, uint64_t *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
bool hash_store_set_number(HashStore *store, const char *name, uint64_t number, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Lower the number to @most if it is larger. */
bool hash_store_lower_number(HashStore *store, const char *name, uint64_t most, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
