/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/filter.h"

#include "common/files/ignore-rules.h"

#include <fnmatch.h>
#include <string.h>

/* Smaller files lie inline in btrfs's metadata (max_inline); on XFS each takes a block. */
#define BTRFS_MIN_SIZE_BYTES 2048
#define XFS_MIN_SIZE_BYTES   1

typedef struct {
	char *glob;
	bool has_slash;
	bool matched;
} Exclude;

struct Filter {
	GArray *excludes; /* Exclude */
	IgnoreRules *rules;
	char *top;
	uint64_t min_size_bytes;
	int64_t young_from_nsec; /* no file is young unless this is before young_to_nsec */
	int64_t young_to_nsec;
};

static void exclude_clear(Exclude *exclude)
{
	g_free(exclude->glob);
}

uint64_t filter_min_size_bytes(const Settings *settings, FsKind kind)
{
	if (settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET)
		return settings->min_size_bytes;
	return kind == FS_KIND_BTRFS ? BTRFS_MIN_SIZE_BYTES : XFS_MIN_SIZE_BYTES;
}

Filter *filter_new(char *const *globs, uint64_t min_size_bytes)
{
	Filter *filter = g_new0(Filter, 1);

	filter->min_size_bytes = min_size_bytes;
	filter->rules = ignore_rules_new(NULL, NULL);
	filter->excludes = g_array_new(false, true, sizeof(Exclude));
	g_array_set_clear_func(filter->excludes, (GDestroyNotify)exclude_clear);

	for (; globs && *globs; globs++) {
		Exclude exclude = { .glob = g_strdup(*globs) };
		size_t length = strlen(exclude.glob);

		/* "tmp/" means the directory tmp. */
		while (length > 1 && exclude.glob[length - 1] == '/')
			exclude.glob[--length] = '\0';
		exclude.has_slash = strchr(exclude.glob, '/');
		g_array_append_val(filter->excludes, exclude);
	}

	return filter;
}

void filter_free(Filter *filter)
{
	if (!filter)
		return;

	g_array_unref(filter->excludes);
	ignore_rules_free(filter->rules);
	g_free(filter->top);
	g_free(filter);
}

void filter_set_patterns(Filter *filter, char *const *patterns, const char *top)
{
	ignore_rules_free(filter->rules);
	g_free(filter->top);
	filter->rules = ignore_rules_new(patterns, top);
	/* Add a slash at the end; "/" stays as it is. */
	filter->top = g_strconcat(strcmp(top, "/") == 0 ? "" : top, "/", NULL);
}

size_t filter_globs(const Filter *filter)
{
	return filter->excludes->len + ignore_rules_count(filter->rules);
}

static bool glob_matches(const char *glob, const char *text)
{
	return fnmatch(glob, text, 0) == 0;
}

/* The glob or pattern that excludes it, or NULL. */
static const char *find_excluding(Filter *filter, const char *path, const char *relative,
				  const char *name, bool is_directory)
{
	const char *excluding = NULL;

	/* Try each glob, to learn which ones match anything. */
	for (size_t i = 0; i < filter->excludes->len; i++) {
		Exclude *exclude = &g_array_index(filter->excludes, Exclude, i);
		bool matches = exclude->has_slash ? glob_matches(exclude->glob, path) ||
							    glob_matches(exclude->glob, relative)
						  : glob_matches(exclude->glob, name);

		exclude->matched |= matches;
		if (matches && !excluding)
			excluding = exclude->glob;
	}

	if (excluding || ignore_rules_count(filter->rules) == 0)
		return excluding;
	if (g_str_has_prefix(path, filter->top))
		relative = path + strlen(filter->top);
	return ignore_rules_find(filter->rules, *relative ? relative : name, is_directory);
}

bool filter_excludes(Filter *filter, const char *path, const char *relative, const char *name)
{
	return find_excluding(filter, path, relative, name, false);
}

bool filter_excludes_directory(Filter *filter, const char *path, const char *relative,
			       const char *name)
{
	return find_excluding(filter, path, relative, name, true);
}

const char *filter_find_below(Filter *filter, const char *path, size_t root_bytes)
{
	g_autofree char *walked = NULL;
	size_t relative = root_bytes + (path[root_bytes] == '/');
	size_t name = relative;

	if (filter_globs(filter) == 0)
		return NULL;

	walked = g_strdup(path);
	while (path[name] != '\0') {
		size_t end = name + strcspn(path + name, "/");
		const char *excluding;

		walked[end] = '\0';
		excluding = find_excluding(filter, walked, walked + relative, walked + name,
					   path[end] == '/');
		if (excluding)
			return excluding;
		walked[end] = path[end];
		name = end + (path[end] == '/');
	}

	return NULL;
}

bool filter_excludes_below(Filter *filter, const char *path, size_t root_bytes)
{
	return filter_find_below(filter, path, root_bytes);
}

void filter_set_young(Filter *filter, int64_t since_nsec, int64_t now_nsec)
{
	filter->young_from_nsec = since_nsec;
	filter->young_to_nsec = now_nsec;
}

bool filter_is_young(const Filter *filter, int64_t mtime_nsec)
{
	return filter->young_from_nsec < filter->young_to_nsec &&
	       mtime_nsec >= filter->young_from_nsec && mtime_nsec <= filter->young_to_nsec;
}

bool filter_is_small(const Filter *filter, uint64_t size_bytes)
{
	return size_bytes < filter->min_size_bytes || size_bytes == 0;
}

const char **filter_unmatched(const Filter *filter)
{
	g_autoptr(GPtrArray) globs = g_ptr_array_new();

	for (size_t i = 0; i < filter->excludes->len; i++) {
		const Exclude *exclude = &g_array_index(filter->excludes, Exclude, i);

		if (!exclude->matched)
			g_ptr_array_add(globs, exclude->glob);
	}
	g_ptr_array_add(globs, NULL);

	return (const char **)g_ptr_array_steal(globs, NULL);
}

const char **filter_unmatched_patterns(const Filter *filter)
{
	g_autoptr(GPtrArray) patterns = g_ptr_array_new();

	ignore_rules_add_unmatched(filter->rules, patterns);
	g_ptr_array_add(patterns, NULL);
	return (const char **)g_ptr_array_steal(patterns, NULL);
}
