/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config-key.h"

/*
 * Values of the configuration: from their texts into the structs that the table of keys tells of.
 *
 * Pure.  Thread: any.
 */

/*
 * Set @key of @values, a Settings or for keys of disks a DiskSettings, to what @text says; the value
 * that is there is freed.  To a list it is added, and an empty text empties it.
 *
 * False: the text is refused, and nothing changed.  The error says what would be right.
 */
bool config_value_set(const ConfigKey *key, const char *text, void *values, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Set @key of @values to what it is where nothing is said. */
void config_value_set_standard(const ConfigKey *key, void *values);

/* What may be given for @key, for people: "auto, hole or keep". */
char *config_value_form(const ConfigKey *key);
