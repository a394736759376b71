/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/memory-state.h"

#include <string.h>

static uint64_t less(uint64_t bytes, uint64_t of)
{
	return bytes - MIN(bytes, of);
}

/* The number after @name at the start of a line. */
static bool find_number(const char *text, const char *name, uint64_t *ret)
{
	size_t length = strlen(name);
	char *end;

	while (text && !(strncmp(text, name, length) == 0 && strchr(": \t", text[length]))) {
		const char *end_of_line = strchr(text, '\n');

		text = end_of_line ? end_of_line + 1 : NULL;
	}
	if (!text || !text[length])
		return false;

	text += length + 1;
	*ret = g_ascii_strtoull(text, &end, 10);
	return end != text;
}

static bool find_kib(const char *text, const char *name, uint64_t *ret)
{
	if (!find_number(text, name, ret) || *ret > UINT64_MAX >> 10)
		return false;

	*ret <<= 10;
	return true;
}

bool memory_state_parse(const char *meminfo, MemoryState *ret)
{
	uint64_t dirty;
	uint64_t writeback;

	if (!find_kib(meminfo, "MemTotal", &ret->total_bytes) ||
	    !find_kib(meminfo, "MemFree", &ret->free_bytes) ||
	    !find_kib(meminfo, "Inactive(file)", &ret->inactive_bytes) ||
	    !find_kib(meminfo, "Active(file)", &ret->active_bytes) ||
	    !find_kib(meminfo, "Dirty", &dirty) || !find_kib(meminfo, "Writeback", &writeback))
		return false;

	ret->unwritten_bytes = dirty + writeback;
	ret->has_generations = false;
	return true;
}

static char *read_file(const char *directory, const char *name)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);
	char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* Of a file that contains a number.  "max" is none. */
static bool read_number(const char *directory, const char *name, uint64_t *ret)
{
	g_autofree char *text = read_file(directory, name);
	char *end;

	if (!text)
		return false;
	*ret = g_ascii_strtoull(text, &end, 10);
	return end != text;
}

typedef struct {
	const char *limits[2]; /* the lower one counts */
	const char *usage;
	const char *inactive;
	const char *active;
	const char *dirty;
	const char *writeback;
} GroupFiles;

static const GroupFiles versions[] = {
	{ { "memory.max", "memory.high" },
	  "memory.current",
	  "inactive_file",
	  "active_file",
	  "file_dirty",
	  "file_writeback" },
	{ { "memory.limit_in_bytes", NULL },
	  "memory.usage_in_bytes",
	  "total_inactive_file",
	  "total_active_file",
	  "total_dirty",
	  "total_writeback" },
};

/* Version 1 has this limit, rounded down to a page, where there is none. */
#define NO_LIMIT ((uint64_t)INT64_MAX >> 16 << 16)

static bool read_limit(const char *directory, const GroupFiles *files, uint64_t *ret)
{
	uint64_t limit;

	*ret = NO_LIMIT;
	for (size_t i = 0; i < G_N_ELEMENTS(files->limits); i++)
		if (files->limits[i] && read_number(directory, files->limits[i], &limit))
			*ret = MIN(*ret, limit);

	return *ret < NO_LIMIT;
}

static bool read_group(const char *directory, const GroupFiles *files, MemoryState *ret)
{
	g_autofree char *stat = NULL;
	uint64_t used;
	uint64_t dirty;
	uint64_t writeback;

	if (!read_limit(directory, files, &ret->total_bytes) ||
	    !read_number(directory, files->usage, &used))
		return false;
	stat = read_file(directory, "memory.stat");
	if (!stat || !find_number(stat, files->inactive, &ret->inactive_bytes) ||
	    !find_number(stat, files->active, &ret->active_bytes) ||
	    !find_number(stat, files->dirty, &dirty) ||
	    !find_number(stat, files->writeback, &writeback))
		return false;

	ret->free_bytes = less(ret->total_bytes, used);
	ret->unwritten_bytes = dirty + writeback;
	ret->has_generations = false;
	return true;
}

/* Read the state of a control group, of version 2 or 1.  False if it has no limit, or cannot be read. */
static bool read_any_group(const char *directory, MemoryState *ret)
{
	for (size_t i = 0; i < G_N_ELEMENTS(versions); i++)
		if (read_group(directory, &versions[i], ret))
			return true;

	return false;
}

/*
 * The path of this process's group in the line of @text that has its memory controller.  Lines are
 * "number:controllers:path".  Version 2 has number 0 and no controllers (cgroups(7)).
 */
static char *find_group(const char *text, bool *ret_is_v1)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", 0);
	const char *unified = NULL;

	*ret_is_v1 = false;
	for (char **line = lines; *line; line++) {
		g_auto(GStrv) fields = g_strsplit(*line, ":", 3);
		g_auto(GStrv) controllers = NULL;

		if (g_strv_length(fields) < 3)
			continue;
		controllers = g_strsplit(fields[1], ",", 0);
		if (g_strv_contains((const char *const *)controllers, "memory")) {
			*ret_is_v1 = true;
			return g_strdup(fields[2]);
		}
		if (!fields[1][0])
			unified = *line + strlen(fields[0]) + 2;
	}

	return g_strdup(unified);
}

/*
 * A group, and those around it up to the mount point.  In a container the path may be that of the host, and not be
 * there: then the mount point is the container's group.
 */
static void add_groups(const char *root, GArray *states)
{
	g_autofree char *own = read_file(root, "proc/self/cgroup");
	g_autofree char *path = NULL;
	bool is_v1;

	path = own ? find_group(own, &is_v1) : NULL;
	for (char *slash = path; slash;) {
		g_autofree char *directory =
			g_build_filename(root, "sys/fs/cgroup", is_v1 ? "memory" : "", path, NULL);
		MemoryState state;

		if (read_any_group(directory, &state))
			g_array_append_val(states, state);
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	}
}

/* Of a node of memory.  The lines are those of /proc/meminfo behind "Node 0 ". */
static bool read_node(const char *directory, MemoryState *ret)
{
	g_autofree char *text = read_file(directory, "meminfo");
	g_autoptr(GString) meminfo = g_string_new(NULL);
	g_auto(GStrv) lines = text ? g_strsplit(text, "\n", 0) : NULL;

	for (char **line = lines; line && *line; line++) {
		g_auto(GStrv) words = g_strsplit(*line, " ", 3);

		if (g_strv_length(words) == 3)
			g_string_append_printf(meminfo, "%s\n", words[2]);
	}

	return memory_state_parse(meminfo->str, ret);
}

/* The sum of all nodes. */
static bool read_nodes(const char *root, MemoryState *ret)
{
	g_autofree char *path = g_build_filename(root, "sys/devices/system/node", NULL);
	g_autoptr(GDir) nodes = g_dir_open(path, 0, NULL);
	const char *name;

	*ret = (MemoryState){ 0 };
	while (nodes && (name = g_dir_read_name(nodes))) {
		g_autofree char *directory = g_build_filename(path, name, NULL);
		MemoryState node;

		if (!read_node(directory, &node))
			continue;
		ret->total_bytes += node.total_bytes;
		ret->free_bytes += node.free_bytes;
		ret->inactive_bytes += node.inactive_bytes;
		ret->active_bytes += node.active_bytes;
		ret->unwritten_bytes += node.unwritten_bytes;
	}

	return ret->total_bytes > 0;
}

/* A unit with ProcSubset=pid sees no /proc/meminfo. */
static bool read_machine(const char *root, MemoryState *ret)
{
	g_autofree char *meminfo = read_file(root, "proc/meminfo");

	return meminfo ? memory_state_parse(meminfo, ret) : read_nodes(root, ret);
}

/* Whether the main switch is on, which is the lowest bit (Documentation/admin-guide/mm/multigen_lru.rst). */
static bool has_generations(const char *root)
{
	g_autofree char *enabled = read_file(root, "sys/kernel/mm/lru_gen/enabled");

	return enabled && g_ascii_strtoull(enabled, NULL, 16) & 1;
}

GArray *memory_states_read(const char *root)
{
	g_autoptr(GArray) states = g_array_new(false, false, sizeof(MemoryState));
	bool generations = has_generations(root);
	MemoryState state;

	if (!read_machine(root, &state))
		return NULL;

	g_array_append_val(states, state);
	add_groups(root, states);
	for (guint i = 0; i < states->len; i++)
		g_array_index(states, MemoryState, i).has_generations = generations;
	return g_steal_pointer(&states);
}

double memory_state_pressure(const char *root)
{
	g_autofree char *text = read_file(root, "proc/pressure/memory");
	const char *some = "some avg10=";

	/* The group of all processes has the same figures. */
	if (!text)
		text = read_file(root, "sys/fs/cgroup/memory.pressure");
	if (!text || !g_str_has_prefix(text, some))
		return 0;
	return g_ascii_strtod(text + strlen(some), NULL);
}
