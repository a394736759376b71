/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/ignore-rules.h"

#include "common/text/path.h"

#include <fnmatch.h>
#include <string.h>

/* Matches any number of directories. */
#define ANY_DEPTH "**"

typedef struct {
	GPtrArray *globs; /* char *, one for each component */
	bool is_negated;
	bool is_for_directories;
	guint pattern; /* of IgnoreRules */
} Rule;

typedef struct {
	char *text; /* as it was given */
	bool has_matched;
} Pattern;

struct IgnoreRules {
	GArray *rules;    /* Rule */
	GArray *patterns; /* Pattern, with one or two rules each */
	GPtrArray *path;  /* the components of the current path */
};

static void rule_clear(Rule *rule)
{
	g_ptr_array_unref(rule->globs);
}

static void pattern_clear(Pattern *pattern)
{
	g_free(pattern->text);
}

/* Split @path at its slashes, in place, without empty components. */
static void split(char *path, GPtrArray *components)
{
	char *rest = path;
	char *component;

	while ((component = strsep(&rest, "/")))
		if (*component != '\0')
			g_ptr_array_add(components, component);
}

static void add_rule(IgnoreRules *rules, const char *pattern, bool is_negated)
{
	g_autoptr(GPtrArray) components = g_ptr_array_new();
	g_autofree char *text = g_strdup(pattern);
	Rule rule = {
		.globs = g_ptr_array_new_with_free_func(g_free),
		.is_negated = is_negated,
		.pattern = rules->patterns->len - 1,
	};
	size_t length = strlen(text);

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

static void add_pattern(IgnoreRules *rules, const char *text, const char *top)
{
	Pattern pattern = { .text = g_strdup(text) };
	bool is_negated = *text == '!';
	const char *path = text + is_negated;

	/* A pattern of slashes only means nothing. */
	if (path[strspn(path, "!/")] == '\0') {
		g_free(pattern.text);
		return;
	}

	g_array_append_val(rules->patterns, pattern);
	add_rule(rules, path, is_negated);
	if (top && strcmp(top, "/") != 0 && path_lies_in(path, top)) {
		const char *below = path + strlen(top);

		if (below[strspn(below, "/")] != '\0')
			add_rule(rules, below, is_negated);
	}
}

IgnoreRules *ignore_rules_new(char *const *patterns, const char *top)
{
	IgnoreRules *rules = g_new0(IgnoreRules, 1);

	rules->path = g_ptr_array_new();
	rules->rules = g_array_new(false, true, sizeof(Rule));
	g_array_set_clear_func(rules->rules, (GDestroyNotify)rule_clear);
	rules->patterns = g_array_new(false, true, sizeof(Pattern));
	g_array_set_clear_func(rules->patterns, (GDestroyNotify)pattern_clear);
	for (; patterns && *patterns; patterns++)
		add_pattern(rules, *patterns, top);

	return rules;
}

void ignore_rules_free(IgnoreRules *rules)
{
	if (!rules)
		return;

	g_array_unref(rules->rules);
	g_array_unref(rules->patterns);
	g_ptr_array_unref(rules->path);
	g_free(rules);
}

size_t ignore_rules_count(const IgnoreRules *rules)
{
	return rules->rules->len;
}

/*
 * Match component by component.  After a mismatch, the last ** takes one more component.  Earlier ones need not
 * be tried again: the last ** can take all that another choice would leave.
 */
static bool matches(const GPtrArray *globs, const GPtrArray *path)
{
	guint glob = 0, taken = 0, i = 0;
	bool has_any = false;
	guint after_any = 0;

	while (i < path->len) {
		if (glob < globs->len && strcmp(globs->pdata[glob], ANY_DEPTH) == 0) {
			/* A final ** matches what is in a directory, not the directory itself. */
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

const char *ignore_rules_find(IgnoreRules *rules, const char *path, bool is_directory)
{
	g_autofree char *components = NULL;
	const Rule *deciding = NULL;

	if (rules->rules->len == 0)
		return NULL;

	components = g_strdup(path);
	g_ptr_array_set_size(rules->path, 0);
	split(components, rules->path);
	/*
	 * When one has decided, continue only with patterns that matched nothing yet, to learn which ones
	 * match.
	 */
	for (guint i = rules->rules->len; i > 0; i--) {
		const Rule *rule = &g_array_index(rules->rules, Rule, i - 1);
		Pattern *pattern = &g_array_index(rules->patterns, Pattern, rule->pattern);

		if ((deciding && pattern->has_matched) ||
		    (rule->is_for_directories && !is_directory) ||
		    !matches(rule->globs, rules->path))
			continue;
		pattern->has_matched = true;
		if (!deciding)
			deciding = rule;
	}

	if (!deciding || deciding->is_negated)
		return NULL;
	return g_array_index(rules->patterns, Pattern, deciding->pattern).text;
}

bool ignore_rules_ignore(IgnoreRules *rules, const char *path, bool is_directory)
{
	return ignore_rules_find(rules, path, is_directory);
}

void ignore_rules_add_unmatched(const IgnoreRules *rules, GPtrArray *unmatched)
{
	for (guint i = 0; i < rules->patterns->len; i++) {
		const Pattern *pattern = &g_array_index(rules->patterns, Pattern, i);

		if (!pattern->has_matched)
			g_ptr_array_add(unmatched, pattern->text);
	}
}
