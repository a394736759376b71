/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/settings/setting-text.h"

#include "cli/terminal/message.h"

#include <string.h>

/* The line that decides; NULL: the default holds. */
static const ConfigEntry *origin_of(const SettingOrigins *origins, const ConfigKey *key)
{
	g_autoptr(GPtrArray) all =
		config_origins(origins->config, CONFIG_FILESYSTEM, origins->names, key);

	return all->len > 0 ? all->pdata[all->len - 1] : NULL;
}

static char *place_of(const ConfigEntry *entry)
{
	g_autofree char *file = message_text(entry->file);

	return g_strdup_printf("%s:%u", file, entry->line);
}

static char *text_of_key(const SettingOrigins *origins, const ConfigKey *key)
{
	const ConfigEntry *entry = origin_of(origins, key);
	g_autofree char *value = message_text(entry ? entry->text : key->standard);
	g_autofree char *place = entry ? place_of(entry) : NULL;

	if (!place)
		return g_strdup_printf("%s=%s by default", key->name, value);
	return g_strdup_printf("%s=%s, %s", key->name, value, place);
}

char *setting_text(const SettingOrigins *origins, const char *key)
{
	return text_of_key(origins, config_key_find(key));
}

char *setting_text_of_pattern(const SettingOrigins *origins, const char *pattern)
{
	const ConfigKey *key = config_key_find("Exclude");
	g_autoptr(GPtrArray) all =
		config_origins(origins->config, CONFIG_FILESYSTEM, origins->names, key);
	g_autofree char *text = message_text(pattern);

	for (guint i = all->len; i > 0; i--) {
		const ConfigEntry *entry = all->pdata[i - 1];
		g_autofree char *place = NULL;

		if (strcmp(entry->text, pattern) != 0)
			continue;
		place = place_of(entry);
		return g_strdup_printf("%s=%s (%s)", key->name, text, place);
	}

	return g_strdup_printf("%s=%s", key->name, text);
}

/* A setting that an advice names, and the value that it asks for, which may be empty. */
typedef struct {
	const ConfigKey *key; /* NULL: none is named */
	char *wanted;
} NamedSetting;

static void named_setting_clear(NamedSetting *named)
{
	g_free(named->wanted);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(NamedSetting, named_setting_clear)

/* The key that is named before the = at @equals; NULL: none is. */
static const ConfigKey *key_before(const char *advice, const char *equals)
{
	const char *start = equals;

	while (start > advice && g_ascii_isalpha(start[-1]))
		start--;
	g_autofree char *name = g_strndup(start, (size_t)(equals - start));
	return config_key_find(name);
}

/* One of which a value is asked for comes first. */
static void find_setting(const char *advice, NamedSetting *ret)
{
	const char *equals = strchr(advice, '=');

	for (; equals && (!ret->wanted || *ret->wanted == '\0'); equals = strchr(equals + 1, '=')) {
		const ConfigKey *key = key_before(advice, equals);

		if (!key)
			continue;
		ret->key = key;
		g_free(ret->wanted);
		ret->wanted = g_strndup(equals + 1, strspn(equals + 1, G_CSET_a_2_z));
	}
}

static bool is_in_force(const SettingOrigins *origins, const NamedSetting *named)
{
	const ConfigEntry *entry = origin_of(origins, named->key);
	const char *value = entry ? entry->text : named->key->standard;

	return *named->wanted != '\0' && strcmp(value, named->wanted) == 0;
}

char *setting_text_of_advice(const SettingOrigins *origins, const char *advice)
{
	const char *remedy = strstr(advice, "; ");
	g_autofree char *setting = NULL;
	g_auto(NamedSetting) named = { 0 };

	find_setting(advice, &named);
	if (!remedy || !named.key || config_key_is_list(named.key))
		return g_strdup(advice);
	if (is_in_force(origins, &named))
		return g_strdup_printf("%.*s; %s=%s is in force now: the next pass takes it",
				       (int)(remedy - advice), advice, named.key->name,
				       named.wanted);

	setting = text_of_key(origins, named.key);
	return g_strdup_printf("%s (%s)", advice, setting);
}
