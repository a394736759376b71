/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * SettingText - what is configured for a filesystem, and where that is said, in words.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	const Config *config;
	const char *const *names; /* by which the filesystem goes; NULL-terminated */
} SettingOrigins;

/* "NoDataCow=skip, /etc/dedupd/dedupd.conf:7", or "NoDataCow=skip by default".  To be freed with g_free(). */
char *setting_text(const SettingOrigins *origins, const char *key);

/* "Exclude=*.iso (/etc/dedupd/dedupd.conf:7)" of a pattern that is in force.  To be freed with g_free(). */
char *setting_text_of_pattern(const SettingOrigins *origins, const char *pattern);

/*
 * @advice, "cause; remedy", with how the setting that the remedy names stands; where it stands as the remedy has it,
 * that is said in its stead.  To be freed with g_free().
 */
char *setting_text_of_advice(const SettingOrigins *origins, const char *advice);
