/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/extent-scope.h"

#include "common/text/short-path.h"
#include "common/text/word-list.h"
#include "daemon/context/boot-directories.h"
#include "daemon/context/scope-directories.h"
#include "kernel-ioctl/btrfs/btrfs-names.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

/* Files whose verdict is remembered.  With more all are forgotten. */
#define VERDICTS_MAX 65536

/* References that are tried to find a file that shows an extent. */
#define EXAMPLE_REFS 8

/* Names that are tried to find one below a root of the pass, and directories above such a name. */
#define EXAMPLE_NAMES 64
#define EXAMPLE_CLIMB 65536

typedef struct {
	FileKey key;
	bool is_in;
	SkipReason reason;
} Verdict;

struct ExtentScope {
	const Filesystem *filesystem;
	const Settings *settings;
	Filter *filter;
	const atomic_bool *stop;
	LookupBudget budget;
	ScopeDirectories *directories;
	BtrfsNames *names;
	ExtentRefs *refs;
	/* Directories that mean something; inode 0: not on this filesystem. */
	FileKey own;
	FileKey boot[BOOT_DIRECTORIES];
	FileKey mount;
	bool is_limited;
	GHashTable *verdicts; /* Verdict by its key */
	ShortPath *path;
	uint64_t n_files;
	uint64_t n_names;
};

/* The directory @fd; inode 0 if it lies on another filesystem. */
static FileKey identify(const Filesystem *filesystem, int fd)
{
	FileKey key = { 0 };
	FsIdentity identity;
	FileStat stat;

	if (fd < 0 || !fs_identity_read(fd, &identity, NULL) || identity.kind != FS_KIND_BTRFS ||
	    memcmp(identity.uuid, filesystem->identity.uuid, sizeof(identity.uuid)) != 0 ||
	    !fs_subvolume_read(fd, FS_KIND_BTRFS, &key.root, NULL) ||
	    file_stat_at(fd, "", &stat) != 0)
		return (FileKey){ 0 };

	key.inode = stat.inode;
	return key;
}

/* Open nothing but btrfs: opening an automount point would mount it. */
static FileKey identify_boot(const Filesystem *filesystem, size_t number)
{
	g_auto(Fd) path_fd = boot_directory_open(number);
	g_auto(Fd) fd = -1;
	struct statfs statfs;

	if (path_fd >= 0 && fstatfs(path_fd, &statfs) == 0 && statfs.f_type == BTRFS_SUPER_MAGIC)
		fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return identify(filesystem, fd);
}

static FileKey identify_path(const Filesystem *filesystem, const char *path)
{
	g_auto(Fd) fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return identify(filesystem, fd);
}

static FileKey key_of_root(const FilesystemRoot *root)
{
	return (FileKey){ root->subvolume, root->inode };
}

static bool has_top_level(const Filesystem *filesystem)
{
	static const FileKey top = { BTRFS_SUBVOLUME_TOP, BTRFS_NAMES_TOP_INODE };

	for (guint i = 0; i < filesystem->roots->len; i++) {
		FileKey key = key_of_root(filesystem->roots->pdata[i]);

		if (file_key_equal(&key, &top))
			return true;
	}

	return false;
}

static bool find_limits(const ExtentScope *scope)
{
	const Settings *settings = scope->settings;

	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		if (scope->boot[i].inode != 0)
			return true;

	return !has_top_level(scope->filesystem) || (settings->excludes && settings->excludes[0]) ||
	       (settings->patterns && settings->patterns[0]) ||
	       settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET;
}

ExtentScope *extent_scope_new(const Filesystem *filesystem, const Settings *settings,
			      Filter *filter, BtrfsRefBound *bound, const atomic_bool *stop)
{
	ExtentScope *scope = g_new0(ExtentScope, 1);

	scope->filesystem = filesystem;
	scope->settings = settings;
	scope->filter = filter;
	scope->stop = stop;
	scope->budget = (LookupBudget)LOOKUP_BUDGET_INIT;
	scope->names = btrfs_names_new(filesystem->fd);
	scope->refs = extent_refs_new(filesystem->fd, bound);
	scope->own = identify_path(filesystem, settings->state_directory);
	scope->mount = identify(filesystem, filesystem->fd);
	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		scope->boot[i] = identify_boot(filesystem, i);
	scope->is_limited = find_limits(scope);
	scope->directories = scope_directories_new(filesystem, filter, &scope->own, scope->boot,
						   &scope->budget, stop);
	scope->verdicts = g_hash_table_new_full(file_key_hash, file_key_equal, NULL, g_free);
	scope->path = short_path_new();
	return scope;
}

void extent_scope_free(ExtentScope *scope)
{
	if (!scope)
		return;

	g_debug("placed %" G_GUINT64_FORMAT " files by %" G_GUINT64_FORMAT
		" names, with %" G_GUINT64_FORMAT " look-ups of directories",
		scope->n_files, scope->n_names, scope_directories_searches(scope->directories));
	scope_directories_free(scope->directories);
	btrfs_names_free(scope->names);
	extent_refs_free(scope->refs);
	g_hash_table_unref(scope->verdicts);
	short_path_free(scope->path);
	g_free(scope);
}

bool extent_scope_is_limited(const ExtentScope *scope)
{
	return scope->is_limited;
}

uint64_t extent_scope_files(const ExtentScope *scope)
{
	return scope->n_files;
}

static void add_numbers(GPtrArray *limits, const char *what, uint64_t one, uint64_t other,
			const char *text)
{
	g_ptr_array_add(limits, g_strdup_printf("%s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %s",
						what, one, other, text));
}

char *extent_scope_limits(const ExtentScope *scope)
{
	g_autoptr(GPtrArray) limits = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GChecksum) digest = g_checksum_new(G_CHECKSUM_SHA256);

	add_numbers(limits, "least", scope->settings->min_size_bytes, 0, "");
	for (guint i = 0; i < scope->filesystem->roots->len; i++) {
		const FilesystemRoot *root = scope->filesystem->roots->pdata[i];

		add_numbers(limits, "root", root->subvolume, root->inode, root->path);
	}
	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		add_numbers(limits, "boot", scope->boot[i].root, scope->boot[i].inode, "");
	for (char **glob = scope->settings->excludes; glob && *glob; glob++)
		add_numbers(limits, "exclude", 0, 0, *glob);
	for (uint64_t i = 0; scope->settings->patterns && scope->settings->patterns[i]; i++)
		add_numbers(limits, "pattern", i, 0, scope->settings->patterns[i]);
	if (scope->settings->patterns)
		add_numbers(limits, "top", 0, 0, scope->filesystem->mount_point);

	g_ptr_array_sort(limits, word_compare);
	for (guint i = 0; i < limits->len; i++)
		g_checksum_update(digest, limits->pdata[i], (gssize)strlen(limits->pdata[i]) + 1);
	return g_strdup(g_checksum_get_string(digest));
}

/* Judge the file by a name in a directory below @above; @reason: why a walk would skip it. */
static void judge_by(Verdict *verdict, bool is_left_alone, SkipReason reason)
{
	if (!is_left_alone)
		verdict->is_in = true;
	else if (verdict->reason == SKIP_OUTSIDE)
		verdict->reason = reason;
}

/* Judge the file by those roots of the pass that are the file itself. */
static void judge_as_root(ExtentScope *scope, const FileKey *directory, Verdict *verdict)
{
	const GPtrArray *roots = scope->filesystem->roots;

	for (guint i = 0; i < roots->len && !verdict->is_in; i++) {
		const FilesystemRoot *root = roots->pdata[i];
		const FileKey key = key_of_root(root);
		SkipReason reason;

		if (!root->is_file || !file_key_equal(&key, &verdict->key))
			continue;
		if (scope_directories_leave_file(scope->directories, directory, root, &reason))
			judge_by(verdict, true, reason);
		else
			judge_by(verdict,
				 filter_excludes(scope->filter, root->path, "",
						 strrchr(root->path, '/') + 1),
				 SKIP_EXCLUDED);
	}
}

/* Judge the file by its @name in the directory, or by that alone if @name is NULL. */
static void judge_below(ExtentScope *scope, const PlacedDirectory *directory, const char *name,
			Verdict *verdict)
{
	size_t n;
	const RootAbove *above = placed_directory_roots(directory, &n);

	for (size_t i = 0; i < n && !verdict->is_in; i++) {
		if (above[i].is_left_alone)
			judge_by(verdict, true, above[i].reason);
		else
			judge_by(verdict,
				 name && scope_directories_exclude(scope->directories, directory,
								   &above[i], name),
				 SKIP_EXCLUDED);
	}
}

/* Judge the file by one of its names; *ret_is_done: no limit cut this short. */
static bool judge_name(ExtentScope *scope, const BtrfsName *name, Verdict *verdict,
		       bool *ret_is_done, GError **error)
{
	const FileKey key = { name->root, name->directory };
	const PlacedDirectory *directory;

	*ret_is_done = false;
	scope->n_names++;
	if (atomic_load(scope->stop) || !lookup_budget_take(&scope->budget, LOOKUP_NAME_UNITS))
		return true;
	if (!scope_directories_find(scope->directories, &key, &directory, error))
		return false;
	if (!directory)
		return true;

	*ret_is_done = true;
	judge_as_root(scope, &key, verdict);
	judge_below(scope, directory, name->name, verdict);
	return true;
}

/* Judge the file by its names, until one is part of the pass. */
static bool judge_file(ExtentScope *scope, Verdict *verdict, GError **error)
{
	bool is_done = true;

	scope->n_files++;
	lookup_budget_begin_file(&scope->budget);
	lookup_budget_take(&scope->budget, LOOKUP_SEARCH_UNITS);
	btrfs_names_start(scope->names, verdict->key.root, verdict->key.inode);
	while (!verdict->is_in) {
		const BtrfsName *name;

		if (!btrfs_names_next(scope->names, &name, error))
			return false;
		if (!name)
			break;
		if (!judge_name(scope, name, verdict, &is_done, error))
			return false;
		if (!is_done)
			break;
	}

	if (!is_done)
		verdict->reason = SKIP_MANY_NAMES;
	return true;
}

/* Whether @key is in the subvolume, but is not its top directory. */
static bool has_within(const FileKey *key, uint64_t root)
{
	return key->root == root && key->inode != 0 && key->inode != BTRFS_NAMES_TOP_INODE;
}

/* Whether all files of the subvolume are part of the pass, or none is, whatever their names are. */
static bool is_uniform(const ExtentScope *scope, uint64_t root)
{
	const GPtrArray *roots = scope->filesystem->roots;

	if (filter_globs(scope->filter) > 0 || has_within(&scope->own, root))
		return false;
	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		if (has_within(&scope->boot[i], root))
			return false;
	for (guint i = 0; i < roots->len; i++) {
		const FileKey key = key_of_root(roots->pdata[i]);

		if (has_within(&key, root))
			return false;
	}

	return true;
}

/* Judge all files of a uniform subvolume at once. */
static bool judge_subvolume(ExtentScope *scope, Verdict *verdict, GError **error)
{
	const FileKey top = { verdict->key.root, BTRFS_NAMES_TOP_INODE };
	const PlacedDirectory *directory;

	lookup_budget_begin_file(&scope->budget);
	if (!scope_directories_find(scope->directories, &top, &directory, error))
		return false;
	if (directory)
		judge_below(scope, directory, NULL, verdict);
	else
		verdict->reason = SKIP_MANY_NAMES;
	return true;
}

static bool find_verdict(ExtentScope *scope, const FileKey *key, Verdict *ret, GError **error)
{
	const Verdict *known = g_hash_table_lookup(scope->verdicts, key);
	Verdict *kept;

	if (known) {
		*ret = *known;
		return true;
	}

	*ret = (Verdict){ .key = *key, .reason = SKIP_OUTSIDE };
	if (!judge_file(scope, ret, error))
		return false;
	/* A look-up that was cut short is no verdict. */
	if (atomic_load(scope->stop))
		return true;

	if (g_hash_table_size(scope->verdicts) >= VERDICTS_MAX)
		g_hash_table_remove_all(scope->verdicts);
	kept = g_memdup2(ret, sizeof(*ret));
	g_hash_table_insert(scope->verdicts, &kept->key, kept);
	return true;
}

bool extent_scope_has(ExtentScope *scope, const ExtentRef *place, bool *ret, SkipReason *ret_reason,
		      GError **error)
{
	Verdict verdict = { .key = { place->root, place->inode }, .reason = SKIP_OUTSIDE };

	*ret = true;
	if (!scope->is_limited)
		return true;
	/* A deleted file lies below nothing. */
	if (!place->is_deleted && is_uniform(scope, place->root)
		    ? !judge_subvolume(scope, &verdict, error)
		    : !find_verdict(scope, &verdict.key, &verdict, error))
		return false;

	if (!verdict.is_in) {
		*ret = false;
		*ret_reason = verdict.reason;
	} else if (scope->settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET &&
		   filter_is_small(scope->filter, place->size_bytes)) {
		*ret = false;
		*ret_reason = SKIP_SMALL;
	}

	return true;
}

/* The nearest root of the pass above the name; NULL: none. */
static const FilesystemRoot *root_above(ExtentScope *scope, const FileKey *file,
					const FileKey *directory)
{
	const GPtrArray *roots = scope->filesystem->roots;
	const PlacedDirectory *placed;
	const RootAbove *above;
	size_t n = 0;

	for (guint i = 0; i < roots->len; i++) {
		const FilesystemRoot *root = roots->pdata[i];
		const FileKey key = key_of_root(root);

		if (root->is_file && file_key_equal(&key, file))
			return root;
	}

	if (!scope_directories_find(scope->directories, directory, &placed, NULL) || !placed)
		return NULL;
	above = placed_directory_roots(placed, &n);
	return n > 0 ? above[0].root : NULL;
}

/* The path of @name in @directory: from @root, else from the mount point, else from the top level. */
static char *path_from(ExtentScope *scope, const FilesystemRoot *root, FileKey directory,
		       const char *name)
{
	FileKey top = scope->mount;
	const BtrfsName *above;

	if (root && root->is_file)
		return g_strdup(root->path);
	if (root)
		top = key_of_root(root);

	short_path_clear(scope->path);
	short_path_prepend(scope->path, name);
	for (unsigned i = 0; i < EXAMPLE_CLIMB && !atomic_load(scope->stop); i++) {
		if (file_key_equal(&directory, &top))
			return short_path_text(scope->path,
					       root ? root->path : scope->filesystem->mount_point);
		if (!btrfs_names_of_directory(scope->names, directory.root, directory.inode, &above,
					      NULL))
			return NULL;
		if (!above)
			break;
		short_path_prepend(scope->path, above->name);
		directory = (FileKey){ above->root, above->directory };
	}

	return short_path_text(scope->path, "<FS_TREE>");
}

char *extent_scope_path(ExtentScope *scope, const ExtentRef *place)
{
	const FileKey key = { place->root, place->inode };
	const FilesystemRoot *root = NULL;
	g_autofree char *text = NULL;
	FileKey directory = { 0 };

	lookup_budget_begin_file(&scope->budget);
	btrfs_names_start(scope->names, key.root, key.inode);
	for (unsigned i = 0; i < EXAMPLE_NAMES && !root && !atomic_load(scope->stop); i++) {
		const FilesystemRoot *found;
		const BtrfsName *name;
		FileKey of_name;

		if (!btrfs_names_next(scope->names, &name, NULL) || !name)
			break;
		of_name = (FileKey){ name->root, name->directory };
		found = root_above(scope, &key, &of_name);
		if (text && !found)
			continue;
		g_free(text);
		text = g_strdup(name->name);
		directory = of_name;
		root = found;
	}

	return text ? path_from(scope, root, directory, text) : NULL;
}

char *extent_scope_subvolume_path(ExtentScope *scope, uint64_t subvolume)
{
	const FileKey key = { subvolume, BTRFS_NAMES_TOP_INODE };
	g_autofree char *text = NULL;
	const FilesystemRoot *root;
	const BtrfsName *name;
	FileKey around;

	if (!btrfs_names_of_directory(scope->names, subvolume, BTRFS_NAMES_TOP_INODE, &name,
				      NULL) ||
	    !name)
		return NULL;

	lookup_budget_begin_file(&scope->budget);
	around = (FileKey){ name->root, name->directory };
	text = g_strdup(name->name);
	root = root_above(scope, &key, &around);
	return path_from(scope, root, around, text);
}

char *extent_scope_example(ExtentScope *scope, const Object *extent)
{
	ExtentRefsOutcome outcome;
	const ExtentRef *found;
	size_t n;

	if (!extent_refs_read(scope->refs, extent, EXAMPLE_REFS, &outcome, NULL))
		return NULL;

	found = extent_refs_list(scope->refs, &n);
	return n > 0 ? extent_scope_path(scope, &found[0]) : NULL;
}
