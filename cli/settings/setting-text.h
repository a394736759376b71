/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * SettingText - describes in words what is configured for a filesystem, and in which file.
 *
 * Pure.  Thread: any.
 */
typedef struct {
	const Config *config;
	const char *const *names; /* names of the filesystem; NULL-terminated */
} SettingOrigins;

/* "NoDataCow=skip, /etc/dedupd/dedupd.conf:7", or "NoDataCow=skip by default".  To be freed with g_free(). */
char *setting_text(const SettingOrigins *origins, const char *key);

/* "Exclude=*.iso (/etc/dedupd/dedupd.conf:7)" for a pattern in force.  To be freed with g_free(). */
char *setting_text_of_pattern(const SettingOrigins *origins, const char *pattern);

/*
 * @advice ("cause; remedy") with the current value of the setting that the remedy names.  If the setting
 * already has the value of the remedy, the text says so instead.  To be freed with g_free().
 */
char *setting_text_of_advice(const SettingOrigins *origins, const char *advice);
