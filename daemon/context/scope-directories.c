/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/scope-directories.h"

#include "daemon/context/boot-directories.h"
#include "kernel-ioctl/btrfs/btrfs-names.h"

#include <string.h>

/* Directories that are remembered.  With more, all are forgotten before the next look-up. */
#define DIRECTORIES_MAX 32768

/* Directories above one another; more form a circle. */
#define CLIMB_MAX 65536

struct PlacedDirectory {
	FileKey key;
	PlacedDirectory *parent; /* NULL: it has none, or no path is needed */
	char *name;              /* in the parent; NULL like that */
	size_t n_roots;
	RootAbove roots[];
};

struct ScopeDirectories {
	const GPtrArray *roots; /* FilesystemRoot */
	Filter *filter;
	const FileKey *own;
	const FileKey *boot;
	LookupBudget *budget;
	const atomic_bool *stop;
	BtrfsNames *names;
	GHashTable *placed; /* PlacedDirectory by its key */
	GArray *climbed;    /* Climbed: from the present directory upwards */
	GPtrArray *text;    /* names of the present path, the last one first */
	GString *path;      /* of path_of, below path_root */
	const PlacedDirectory *path_of;
	const FilesystemRoot *path_root;
	uint64_t searches;
};

/* A directory that is not placed yet. */
typedef struct {
	FileKey key;
	char *name; /* in the next one; NULL: the filter needs none */
} Climbed;

static void placed_free(void *data)
{
	PlacedDirectory *placed = data;

	g_free(placed->name);
	g_free(placed);
}

static void climbed_clear(void *data)
{
	Climbed *climbed = data;

	g_free(climbed->name);
}

ScopeDirectories *scope_directories_new(const Filesystem *filesystem, Filter *filter,
					const FileKey *own, const FileKey *boot,
					LookupBudget *budget, const atomic_bool *stop)
{
	ScopeDirectories *directories = g_new0(ScopeDirectories, 1);

	directories->roots = filesystem->roots;
	directories->filter = filter;
	directories->own = own;
	directories->boot = boot;
	directories->budget = budget;
	directories->stop = stop;
	directories->names = btrfs_names_new(filesystem->fd);
	directories->placed =
		g_hash_table_new_full(file_key_hash, file_key_equal, NULL, placed_free);
	directories->climbed = g_array_new(false, false, sizeof(Climbed));
	g_array_set_clear_func(directories->climbed, climbed_clear);
	directories->text = g_ptr_array_new();
	directories->path = g_string_new(NULL);
	return directories;
}

void scope_directories_free(ScopeDirectories *directories)
{
	if (!directories)
		return;

	btrfs_names_free(directories->names);
	g_hash_table_unref(directories->placed);
	g_array_unref(directories->climbed);
	g_ptr_array_unref(directories->text);
	g_string_free(directories->path, true);
	g_free(directories);
}

uint64_t scope_directories_searches(const ScopeDirectories *directories)
{
	return directories->searches;
}

const RootAbove *placed_directory_roots(const PlacedDirectory *directory, size_t *ret_n)
{
	*ret_n = directory->n_roots;
	return directory->roots;
}

/* Whether a walk from @root skips this directory, whatever its name is. */
static bool is_left_alone(const ScopeDirectories *directories, const FileKey *directory,
			  const FilesystemRoot *root, SkipReason *ret_reason)
{
	*ret_reason = SKIP_OWN_STATE;
	if (file_key_equal(directory, directories->own))
		return true;

	*ret_reason = SKIP_BOOT;
	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		if (file_key_equal(directory, &directories->boot[i]))
			return !boot_directory_is_named(i, root->path);

	return false;
}

bool scope_directories_leave_file(const ScopeDirectories *directories, const FileKey *directory,
				  const FilesystemRoot *root, SkipReason *ret_reason)
{
	return is_left_alone(directories, directory, root, ret_reason);
}

static uint64_t units_of(uint64_t bytes)
{
	return bytes / LOOKUP_BYTES_PER_UNIT;
}

/* The path of @placed below the root; the parts that are known already are kept. */
static const char *path_below(ScopeDirectories *directories, const PlacedDirectory *placed,
			      const RootAbove *above)
{
	GString *path = directories->path;
	const FileKey top = { above->root->subvolume, above->root->inode };

	if (directories->path_of == placed && directories->path_root == above->root) {
		g_string_truncate(path, above->path_bytes);
		return path->str;
	}

	g_ptr_array_set_size(directories->text, 0);
	for (const PlacedDirectory *at = placed; at && !file_key_equal(&at->key, &top);
	     at = at->parent)
		g_ptr_array_add(directories->text, at->name);
	g_string_assign(path, above->root->path);
	for (guint i = directories->text->len; i > 0; i--) {
		if (path->len == 0 || path->str[path->len - 1] != '/')
			g_string_append_c(path, '/');
		g_string_append(path, directories->text->pdata[i - 1]);
	}

	directories->path_of = placed;
	directories->path_root = above->root;
	lookup_budget_take(directories->budget, units_of(path->len));
	return path->str;
}

/* Whether the filter excludes @name, a file or directory in @parent. */
static bool excludes(ScopeDirectories *directories, const PlacedDirectory *parent,
		     const RootAbove *above, const char *name, bool is_directory)
{
	GString *path = directories->path;
	const char *relative;

	path_below(directories, parent, above);
	if (path->len == 0 || path->str[path->len - 1] != '/')
		g_string_append_c(path, '/');
	g_string_append(path, name);
	relative = path->str + strlen(above->root->path);
	relative += *relative == '/';
	lookup_budget_take(directories->budget,
			   units_of(path->len * filter_globs(directories->filter)));
	return is_directory
		       ? filter_excludes_directory(directories->filter, path->str, relative, name)
		       : filter_excludes(directories->filter, path->str, relative, name);
}

bool scope_directories_exclude(ScopeDirectories *directories, const PlacedDirectory *directory,
			       const RootAbove *above, const char *name)
{
	return filter_globs(directories->filter) > 0 &&
	       excludes(directories, directory, above, name, false);
}

/* The root @above of @parent, as seen from the directory of @climbed in it. */
static RootAbove inherit(ScopeDirectories *directories, const Climbed *climbed,
			 const PlacedDirectory *parent, const RootAbove *above)
{
	RootAbove here = *above;
	SkipReason reason;

	if (is_left_alone(directories, &climbed->key, above->root, &reason)) {
		if (!here.is_left_alone || here.reason != SKIP_OWN_STATE)
			here.reason = reason;
		here.is_left_alone = true;
	}
	if (here.is_left_alone || !climbed->name)
		return here;

	here.path_bytes += strlen(climbed->name) + 1;
	if (here.path_bytes > FILTER_PATH_BYTES_MAX) {
		here.is_left_alone = true;
		here.reason = SKIP_TOO_DEEP;
	} else if (excludes(directories, parent, above, climbed->name, true)) {
		here.is_left_alone = true;
		here.reason = SKIP_EXCLUDED;
	}
	return here;
}

static bool is_root(const FilesystemRoot *root, const FileKey *key)
{
	return !root->is_file && root->subvolume == key->root && root->inode == key->inode;
}

static size_t count_roots(const ScopeDirectories *directories, const FileKey *key)
{
	size_t n = 0;

	for (guint i = 0; i < directories->roots->len; i++)
		n += is_root(directories->roots->pdata[i], key);
	return n;
}

/* The slash after the root is counted with the name that follows it. */
static uint32_t root_bytes(const FilesystemRoot *root)
{
	return strcmp(root->path, "/") == 0 ? 0 : (uint32_t)strlen(root->path);
}

/* Remember the directory; @parent is NULL if it has no name. */
static PlacedDirectory *place(ScopeDirectories *directories, Climbed *climbed,
			      PlacedDirectory *parent)
{
	size_t n_own = count_roots(directories, &climbed->key);
	size_t n = n_own + (parent ? parent->n_roots : 0);
	PlacedDirectory *placed = g_malloc0(sizeof(*placed) + n * sizeof(RootAbove));

	placed->key = climbed->key;
	for (guint i = 0; i < directories->roots->len; i++) {
		const FilesystemRoot *root = directories->roots->pdata[i];
		RootAbove here = { .root = root, .path_bytes = root_bytes(root) };

		if (!is_root(root, &climbed->key))
			continue;
		here.is_left_alone = is_left_alone(directories, &climbed->key, root, &here.reason);
		placed->roots[placed->n_roots++] = here;
	}
	for (size_t i = 0; parent && i < parent->n_roots; i++)
		placed->roots[placed->n_roots++] =
			inherit(directories, climbed, parent, &parent->roots[i]);

	placed->parent = parent;
	placed->name = g_steal_pointer(&climbed->name);
	g_hash_table_insert(directories->placed, &placed->key, placed);
	return placed;
}

/*
 * Climb from @key to a directory that is placed, *ret, or to the top, *ret = NULL.  *ret_is_done: no limit cut this
 * short.
 */
static bool climb(ScopeDirectories *directories, const FileKey *key, PlacedDirectory **ret,
		  bool *ret_is_done, GError **error)
{
	bool has_filter = filter_globs(directories->filter) > 0;
	Climbed climbed = { .key = *key };

	*ret_is_done = false;
	*ret = NULL;
	while (directories->climbed->len < CLIMB_MAX) {
		const BtrfsName *name;

		if (atomic_load(directories->stop) ||
		    !lookup_budget_take(directories->budget, LOOKUP_SEARCH_UNITS))
			return true;
		directories->searches++;
		if (!btrfs_names_of_directory(directories->names, climbed.key.root,
					      climbed.key.inode, &name, error))
			return false;
		climbed.name = has_filter && name ? g_strdup(name->name) : NULL;
		g_array_append_val(directories->climbed, climbed);
		if (!name)
			break;

		climbed.key = (FileKey){ name->root, name->directory };
		*ret = g_hash_table_lookup(directories->placed, &climbed.key);
		if (*ret)
			break;
	}

	*ret_is_done = true;
	return true;
}

bool scope_directories_find(ScopeDirectories *directories, const FileKey *key,
			    const PlacedDirectory **ret, GError **error)
{
	PlacedDirectory *placed = g_hash_table_lookup(directories->placed, key);
	bool is_done;

	*ret = placed;
	if (placed)
		return true;

	if (g_hash_table_size(directories->placed) >= DIRECTORIES_MAX) {
		g_hash_table_remove_all(directories->placed);
		directories->path_of = NULL;
	}
	g_array_set_size(directories->climbed, 0);
	if (!climb(directories, key, &placed, &is_done, error))
		return false;
	if (!is_done)
		return true;
	/* A circle lies below no root. */
	if (directories->climbed->len >= CLIMB_MAX)
		g_array_set_size(directories->climbed, 1);

	/* The directories placed so far help the next look-up, even if this one is cut short. */
	for (guint i = directories->climbed->len; i > 0; i--) {
		if (atomic_load(directories->stop) || !lookup_budget_take(directories->budget, 0))
			return true;
		placed = place(directories, &g_array_index(directories->climbed, Climbed, i - 1),
			       placed);
	}

	*ret = placed;
	return true;
}
