/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/settings/overruling.h"

#include "cli/terminal/message.h"
#include "common/config/config-value.h"
#include "common/files/ignore-rules.h"

#include <string.h>

static bool is_assignment(const ConfigEntry *entry, const char *assignment)
{
	g_autofree char *text =
		entry->key ? g_strconcat(entry->key->name, "=", entry->text, NULL) : NULL;

	return g_strcmp0(text, assignment) == 0;
}

/* Whether both texts mean one value of @key, which is no list. */
static bool is_same_value(const ConfigKey *key, const char *one, const char *other)
{
	Settings of_one, of_other;

	memset(&of_one, 0, sizeof(of_one));
	memset(&of_other, 0, sizeof(of_other));
	return config_value_set(key, one, &of_one, NULL) &&
	       config_value_set(key, other, &of_other, NULL) &&
	       memcmp(&of_one, &of_other, sizeof(of_one)) == 0;
}

static bool is_pattern(const ConfigKey *key)
{
	return key->type == CONFIG_EXCLUDE || key->type == CONFIG_INCLUDE;
}

static bool excludes(const ConfigEntry *entry)
{
	return (entry->key->type == CONFIG_EXCLUDE) != (*entry->text == '!');
}

static const char *pattern_of(const ConfigEntry *entry)
{
	return entry->text + (*entry->text == '!');
}

/* Whether @later matches all that @pattern matches, as far as that is certain. */
static bool covers(const char *later, const char *pattern)
{
	char *const patterns[] = { (char *)later, NULL };
	g_autoptr(IgnoreRules) rules = NULL;

	if (strcmp(later, pattern) == 0)
		return true;
	/*
	 * A star matches the text of any pattern.  A question mark would match more than the other pattern
	 * means.
	 */
	if (strpbrk(later, "?[\\"))
		return false;

	rules = ignore_rules_new(patterns, NULL);
	return ignore_rules_ignore(rules, pattern, g_str_has_suffix(pattern, "/"));
}

/* The entry that overrides @own after @entry is read, too, if @before did so until then. */
static const ConfigEntry *judge(const ConfigEntry *own, const ConfigEntry *entry,
				const ConfigEntry *before)
{
	if (!config_key_is_list(own->key))
		return is_same_value(own->key, own->text, entry->text) ? NULL : entry;
	if (*entry->text == '\0')
		return entry;
	if (entry->key == own->key && strcmp(entry->text, own->text) == 0)
		return NULL;
	if (!is_pattern(own->key) || !covers(pattern_of(entry), pattern_of(own)))
		return before;
	return excludes(entry) == excludes(own) ? NULL : entry;
}

const ConfigEntry *overruling_find(const Config *config, const char *const *names, const char *path,
				   const char *assignment)
{
	const GPtrArray *entries = config_entries(config);
	const ConfigEntry *found = NULL;
	const ConfigEntry *own = NULL;

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];

		if (entry->section != CONFIG_FILESYSTEM || !entry->key ||
		    !g_strv_contains(names, entry->name))
			continue;
		if (strcmp(entry->file, path) == 0 && is_assignment(entry, assignment)) {
			own = entry;
			found = NULL;
		} else if (own && strcmp(entry->file, path) != 0 &&
			   entry->key->offset == own->key->offset) {
			found = judge(own, entry, found);
		}
	}

	/* Additions do not change an empty list. */
	return own && *own->text != '\0' ? found : NULL;
}

char *overruling_text(const char *assignment, const ConfigEntry *entry)
{
	g_autofree char *file = message_text(entry->file);
	g_autofree char *where =
		g_strdup_printf("not in force: %s; %s:%u, which is read later, says", assignment,
				file, entry->line);

	if (!config_key_is_list(entry->key))
		return g_strdup_printf("%s %s", where, entry->text);
	if (*entry->text == '\0')
		return g_strdup_printf("%s %s=, which takes back all before it", where,
				       entry->key->name);
	return g_strdup_printf("%s %s=%s: the last pattern that matches decides", where,
			       entry->key->name, entry->text);
}
