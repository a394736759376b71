/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/ignore-rules.h"

#include <fnmatch.h>
#include <string.h>

/* A component that stands for any number of directories. */
#define ANY_DEPTH "**"

typedef struct {
	GPtrArray *globs; /* char *, one for each component */
	bool is_negated;
	bool is_for_directories;
} Rule;

struct IgnoreRules {
	GArray *rules;   /* Rule */
	GPtrArray *path; /* of the path in hand the components */
};

static void rule_clear(Rule *rule)
{
	g_ptr_array_unref(rule->globs);
}

/* Cut @path at its slashes, in place; empty components are none. */
static void split(char *path, GPtrArray *components)
{
	char *rest = path;
	char *component;

	while ((component = strsep(&rest, "/")))
		if (*component != '\0')
			g_ptr_array_add(components, component);
}

static void add_rule(IgnoreRules *rules, const char *pattern)
{
	g_autoptr(GPtrArray) components = g_ptr_array_new();
	g_autofree char *text = NULL;
	Rule rule = { .globs = g_ptr_array_new_with_free_func(g_free) };
	size_t length;

	rule.is_negated = *pattern == '!';
	text = g_strdup(pattern + rule.is_negated);
	length = strlen(text);
	while (length > 0 && text[length - 1] == '/') {
		rule.is_for_directories = true;
		text[--length] = '\0';
	}

	if (!strchr(text, '/'))
		g_ptr_array_add(rule.globs, g_strdup(ANY_DEPTH));
	split(text, components);
	for (guint i = 0; i < components->len; i++)
		g_ptr_array_add(rule.globs, g_strdup(components->pdata[i]));
	g_array_append_val(rules->rules, rule);
}

IgnoreRules *ignore_rules_new(char *const *patterns)
{
	IgnoreRules *rules = g_new0(IgnoreRules, 1);

	rules->path = g_ptr_array_new();
	rules->rules = g_array_new(false, true, sizeof(Rule));
	g_array_set_clear_func(rules->rules, (GDestroyNotify)rule_clear);
	/* A pattern of nothing but slashes means nothing. */
	for (; patterns && *patterns; patterns++)
		if ((*patterns)[strspn(*patterns, "!/")] != '\0')
			add_rule(rules, *patterns);

	return rules;
}

void ignore_rules_free(IgnoreRules *rules)
{
	if (!rules)
		return;

	g_array_unref(rules->rules);
	g_ptr_array_unref(rules->path);
	g_free(rules);
}

size_t ignore_rules_count(const IgnoreRules *rules)
{
	return rules->rules->len;
}

/*
 * Component by component; where they part, the last ** takes one more.  What is before it need not be
 * tried anew, since a ** behind it could take all that another beginning would leave.
 */
static bool matches(const GPtrArray *globs, const GPtrArray *path)
{
	guint glob = 0, taken = 0, i = 0;
	bool has_any = false;
	guint after_any = 0;

	while (i < path->len) {
		if (glob < globs->len && strcmp(globs->pdata[glob], ANY_DEPTH) == 0) {
			/* At the end it stands for what is in a directory, not for itself. */
			if (glob + 1 == globs->len)
				return true;
			after_any = ++glob;
			has_any = true;
			taken = i;
		} else if (glob < globs->len &&
			   fnmatch(globs->pdata[glob], path->pdata[i], 0) == 0) {
			glob++;
			i++;
		} else if (has_any) {
			glob = after_any;
			i = ++taken;
		} else {
			return false;
		}
	}

	return glob == globs->len;
}

bool ignore_rules_ignore(IgnoreRules *rules, const char *path, bool is_directory)
{
	g_autofree char *components = NULL;

	if (rules->rules->len == 0)
		return false;

	components = g_strdup(path);
	g_ptr_array_set_size(rules->path, 0);
	split(components, rules->path);
	for (guint i = rules->rules->len; i > 0; i--) {
		const Rule *rule = &g_array_index(rules->rules, Rule, i - 1);

		if ((is_directory || !rule->is_for_directories) &&
		    matches(rule->globs, rules->path))
			return !rule->is_negated;
	}

	return false;
}
