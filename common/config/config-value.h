/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config-key.h"

/*
 * ConfigValue - converts texts of the configuration into fields of Settings and DiskSettings.
 *
 * Pure.  Thread: any.
 */

/*
 * Set the field of @key in @values from @text; the old value is freed.  @values is a DiskSettings for keys of
 * disks, else a Settings.  A list grows by the value; an empty text empties it.
 *
 * False if the text is invalid: nothing changed, and the error tells what would be right.
 */
bool config_value_set(const ConfigKey *key, const char *text, void *values, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Set the field of @key in @values to its default. */
void config_value_set_standard(const ConfigKey *key, void *values);

/* The accepted values of @key, for people: "auto, hole or keep".  To be freed. */
char *config_value_form(const ConfigKey *key);
