/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/run-paths.h"

#include "cli/terminal/message.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/fs-identity.h"
#include "kernel-ioctl/file/open-file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run_paths_free(void *data)
{
	RunPaths *paths = data;

	g_free(paths->uuid);
	g_strfreev(paths->paths);
	g_free(paths);
}

static void fail(GError **error, const char *name, const char *why)
{
	g_autofree char *text = message_text(name);

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: %s", text, why);
}

static bool identify(const char *path, const char *name, FsIdentity *ret, GError **error)
{
	g_auto(Fd) fd = -1;
	int cause;

	switch (open_file_or_directory(path, &fd, &cause)) {
	case OPEN_OPENED:
		break;
	case OPEN_NOT_REGULAR:
		fail(error, name, "it is neither a directory nor a regular file");
		return false;
	default:
		fail(error, name, g_strerror(cause));
		return false;
	}
	if (!fs_identity_read(fd, ret, error))
		return false;
	if (ret->kind != FS_KIND_OTHER)
		return true;

	fail(error, name, "it is not on a btrfs or XFS filesystem: dedupd supports only these");
	return false;
}

/* The parts of a RunPaths. */
typedef struct {
	RunPaths *run; /* of the array of all */
	GPtrArray *paths;
	size_t n_bytes;
} Part;

static void part_free(void *data)
{
	Part *part = data;

	g_ptr_array_add(part->paths, NULL);
	part->run->paths = (char **)g_ptr_array_free(part->paths, FALSE);
	g_free(part);
}

/* The part of the filesystem with room for @path: the last one, or a new one. */
static Part *part_for(GPtrArray *all, GHashTable *parts, const FsIdentity *identity,
		      const char *path)
{
	char uuid[FS_UUID_TEXT_BYTES];
	size_t n_bytes = strlen(path) + sizeof(uint32_t);
	Part *part;

	fs_uuid_format(identity->uuid, uuid);
	part = g_hash_table_lookup(parts, uuid);
	if (!part || part->paths->len >= RUN_PATHS_MOST ||
	    part->n_bytes + n_bytes > RUN_PATHS_BYTES_MOST) {
		bool is_rest = part;

		part = g_new0(Part, 1);
		part->paths = g_ptr_array_new();
		part->run = g_new0(RunPaths, 1);
		part->run->uuid = g_strdup(uuid);
		part->run->is_rest = is_rest;
		part->run->is_btrfs = identity->kind == FS_KIND_BTRFS;
		g_ptr_array_add(all, part->run);
		/* The table frees the previous part, which makes an array of its paths. */
		g_hash_table_replace(parts, part->run->uuid, part);
	}

	part->n_bytes += n_bytes;
	return part;
}

static bool add(GPtrArray *all, GHashTable *parts, const char *name, GError **error)
{
	g_autofree char *real = realpath(name, NULL);
	FsIdentity identity;
	Part *part;

	if (!real) {
		fail(error, name, g_strerror(errno));
		return false;
	}
	if (!identify(real, name, &identity, error))
		return false;

	part = part_for(all, parts, &identity, real);
	g_ptr_array_add(part->paths, g_steal_pointer(&real));
	return true;
}

GPtrArray *run_paths_find_listed(char *const *names, size_t *ret_n_left_out, GError **ret_first)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(run_paths_free);
	g_autoptr(GHashTable) parts =
		g_hash_table_new_full(g_str_hash, g_str_equal, NULL, part_free);

	*ret_n_left_out = 0;
	for (size_t i = 0; names[i]; i++) {
		if (add(all, parts, names[i], *ret_n_left_out == 0 ? ret_first : NULL))
			continue;
		++*ret_n_left_out;
	}
	return all;
}

GPtrArray *run_paths_find(char *const *names, GError **error)
{
	size_t n_left_out;
	g_autoptr(GPtrArray) all = run_paths_find_listed(names, &n_left_out, error);

	return n_left_out > 0 ? NULL : g_steal_pointer(&all);
}

static bool read_names(FILE *file, char end, GPtrArray *names, GError **error)
{
	char *name = NULL;
	size_t n_allocated = 0;
	ssize_t length;

	while ((length = getdelim(&name, &n_allocated, end, file)) > 0) {
		if (name[length - 1] == end)
			name[length - 1] = '\0';
		if (names->len >= RUN_LIST_MOST) {
			free(name);
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				    "more than %d names: name directories", RUN_LIST_MOST);
			return false;
		}
		if (name[0] != '\0')
			g_ptr_array_add(names, g_strdup(name));
	}
	free(name);
	if (!ferror(file))
		return true;

	g_set_error_literal(error, G_FILE_ERROR, g_file_error_from_errno(errno), g_strerror(errno));
	return false;
}

GStrv run_paths_read(const char *path, char end, GError **error)
{
	bool is_standard = strcmp(path, "-") == 0;
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	FILE *file = is_standard ? stdin : fopen(path, "re");
	bool is_read;

	if (!file) {
		g_set_error_literal(error, G_FILE_ERROR, g_file_error_from_errno(errno),
				    g_strerror(errno));
		return NULL;
	}
	is_read = read_names(file, end, names, error);
	if (!is_standard)
		fclose(file);
	if (!is_read)
		return NULL;

	g_ptr_array_add(names, NULL);
	return (GStrv)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}
