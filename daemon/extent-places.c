/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/extent-places.h"

#include "daemon/boot-directories.h"
#include "kernel-ioctl/btrfs-names.h"
#include "kernel-ioctl/btrfs-subvolumes.h"
#include "kernel-ioctl/fd.h"
#include "kernel-ioctl/file-stat.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

/* Files whose verdict is remembered; with more all are forgotten. */
#define VERDICTS_MAX 65536

/* Names above one another; a way that is longer is a circle. */
#define CLIMB_MAX 65536

/* References that are tried to find a file that shows an extent. */
#define EXAMPLE_REFS 8

/* One bit for each of the boot directories, and one for the state directory. */
#define MET_OWN (1u << BOOT_DIRECTORIES)

typedef struct {
	uint64_t root; /* id of the subvolume */
	uint64_t inode;
} PlaceKey;

typedef struct {
	PlaceKey key;
	bool is_in;
	SkipReason reason;
} Verdict;

struct ExtentPlaces {
	const Filesystem *filesystem;
	const Settings *settings;
	Filter *filter;
	BtrfsNames *names;
	ExtentRefs *refs;
	/* Directories that mean something; inode 0: not on this filesystem. */
	PlaceKey own;
	PlaceKey boot[BOOT_DIRECTORIES];
	PlaceKey mount;
	bool is_limited;
	GHashTable *verdicts; /* Verdict by its key */
	GPtrArray *way;       /* names from a file upwards */
	uint64_t n_files;
};

static guint key_hash(const void *data)
{
	const PlaceKey *key = data;
	uint64_t mixed = key->inode * UINT64_C(0x9e3779b97f4a7c15) ^ key->root;

	return (guint)(mixed ^ mixed >> 32);
}

static gboolean key_equal(const void *a, const void *b)
{
	const PlaceKey *one = a, *other = b;

	return one->inode == other->inode && one->root == other->root;
}

/* What the directory @fd is on this filesystem; inode 0 where it lies on another. */
static PlaceKey identify(const Filesystem *filesystem, int fd)
{
	PlaceKey key = { 0 };
	FsIdentity identity;
	FileStat stat;

	if (fd < 0 || !fs_identity_read(fd, &identity, NULL) || identity.kind != FS_KIND_BTRFS ||
	    memcmp(identity.uuid, filesystem->identity.uuid, sizeof(identity.uuid)) != 0 ||
	    !fs_subvolume_read(fd, FS_KIND_BTRFS, &key.root, NULL) ||
	    file_stat_at(fd, "", &stat) != 0)
		return (PlaceKey){ 0 };

	key.inode = stat.inode;
	return key;
}

/* Only what is btrfs already is opened: opening what an automount waits at would mount it. */
static PlaceKey identify_boot(const Filesystem *filesystem, size_t number)
{
	g_auto(Fd) path_fd = boot_directory_open(number);
	g_auto(Fd) fd = -1;
	struct statfs statfs;

	if (path_fd >= 0 && fstatfs(path_fd, &statfs) == 0 && statfs.f_type == BTRFS_SUPER_MAGIC)
		fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return identify(filesystem, fd);
}

static PlaceKey identify_path(const Filesystem *filesystem, const char *path)
{
	g_auto(Fd) fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return identify(filesystem, fd);
}

static PlaceKey key_of_root(const FilesystemRoot *root)
{
	return (PlaceKey){ root->subvolume, root->inode };
}

static bool has_top_level(const Filesystem *filesystem)
{
	static const PlaceKey top = { BTRFS_SUBVOLUME_TOP, BTRFS_NAMES_TOP_INODE };

	for (guint i = 0; i < filesystem->roots->len; i++) {
		PlaceKey key = key_of_root(filesystem->roots->pdata[i]);

		if (key_equal(&key, &top))
			return true;
	}

	return false;
}

static bool find_limits(const ExtentPlaces *places)
{
	const Settings *settings = places->settings;

	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		if (places->boot[i].inode != 0)
			return true;

	return !has_top_level(places->filesystem) ||
	       (settings->excludes && settings->excludes[0]) ||
	       (settings->patterns && settings->patterns[0]) ||
	       settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET;
}

ExtentPlaces *extent_places_new(const Filesystem *filesystem, const Settings *settings,
				Filter *filter)
{
	ExtentPlaces *places = g_new0(ExtentPlaces, 1);

	places->filesystem = filesystem;
	places->settings = settings;
	places->filter = filter;
	places->names = btrfs_names_new(filesystem->fd);
	places->refs = extent_refs_new(filesystem->fd);
	places->own = identify_path(filesystem, settings->state_directory);
	places->mount = identify(filesystem, filesystem->fd);
	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		places->boot[i] = identify_boot(filesystem, i);
	places->is_limited = find_limits(places);
	places->verdicts = g_hash_table_new_full(key_hash, key_equal, NULL, g_free);
	places->way = g_ptr_array_new();
	return places;
}

void extent_places_free(ExtentPlaces *places)
{
	if (!places)
		return;

	btrfs_names_free(places->names);
	extent_refs_free(places->refs);
	g_hash_table_unref(places->verdicts);
	g_ptr_array_unref(places->way);
	g_free(places);
}

bool extent_places_is_limited(const ExtentPlaces *places)
{
	return places->is_limited;
}

uint64_t extent_places_files(const ExtentPlaces *places)
{
	return places->n_files;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_numbers(GPtrArray *limits, const char *what, uint64_t one, uint64_t other,
			const char *text)
{
	g_ptr_array_add(limits, g_strdup_printf("%s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %s",
						what, one, other, text));
}

char *extent_places_limits(const ExtentPlaces *places)
{
	g_autoptr(GPtrArray) limits = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GChecksum) digest = g_checksum_new(G_CHECKSUM_SHA256);

	add_numbers(limits, "least", places->settings->min_size_bytes, 0, "");
	for (guint i = 0; i < places->filesystem->roots->len; i++) {
		const FilesystemRoot *root = places->filesystem->roots->pdata[i];

		add_numbers(limits, "root", root->subvolume, root->inode, root->path);
	}
	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		add_numbers(limits, "boot", places->boot[i].root, places->boot[i].inode, "");
	for (char **glob = places->settings->excludes; glob && *glob; glob++)
		add_numbers(limits, "exclude", 0, 0, *glob);
	for (uint64_t i = 0; places->settings->patterns && places->settings->patterns[i]; i++)
		add_numbers(limits, "pattern", i, 0, places->settings->patterns[i]);
	if (places->settings->patterns)
		add_numbers(limits, "top", 0, 0, places->filesystem->mount_point);

	g_ptr_array_sort(limits, compare_texts);
	for (guint i = 0; i < limits->len; i++)
		g_checksum_update(digest, limits->pdata[i], (gssize)strlen(limits->pdata[i]) + 1);
	return g_strdup(g_checksum_get_string(digest));
}

/* The path of the way in hand from the directory @top on. */
static char *path_of_way(const ExtentPlaces *places, const char *top)
{
	GString *path = g_string_new(top);

	for (guint i = places->way->len; i > 0; i--) {
		if (path->len == 0 || path->str[path->len - 1] != '/')
			g_string_append_c(path, '/');
		g_string_append(path, places->way->pdata[i - 1]);
	}

	return g_string_free(path, false);
}

static bool filter_takes(const ExtentPlaces *places, const FilesystemRoot *root)
{
	g_autofree char *path = NULL;

	if (root->is_file)
		return !filter_excludes(places->filter, root->path, "",
					strrchr(root->path, '/') + 1);

	path = path_of_way(places, root->path);
	return !filter_excludes_below(places->filter, path, strlen(root->path));
}

/* Which of the directories that are left alone this is, as a bit; 0: none. */
static unsigned meet(const ExtentPlaces *places, const PlaceKey *directory)
{
	unsigned met = key_equal(directory, &places->own) ? MET_OWN : 0;

	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		if (key_equal(directory, &places->boot[i]))
			met |= 1u << i;

	return met;
}

/* Judge a file that the way in hand, on which @met was met, leads to from @root. */
static void judge_way(const ExtentPlaces *places, const FilesystemRoot *root, unsigned met,
		      Verdict *verdict)
{
	SkipReason reason = SKIP_OUTSIDE;

	for (size_t i = 0; i < BOOT_DIRECTORIES; i++)
		if (met & 1u << i && !boot_directory_is_named(i, root->path))
			reason = SKIP_BOOT;
	if (met & MET_OWN)
		reason = SKIP_OWN_STATE;

	if (reason == SKIP_OUTSIDE && filter_takes(places, root))
		verdict->is_in = true;
	else if (verdict->reason == SKIP_OUTSIDE)
		verdict->reason = reason == SKIP_OUTSIDE ? SKIP_EXCLUDED : reason;
}

/* Whether the way begins at @root: its first directory is @directory, or it is the file itself. */
static bool begins_at(const FilesystemRoot *root, const PlaceKey *directory, const PlaceKey *file)
{
	PlaceKey key = key_of_root(root);

	return root->is_file ? file && key_equal(&key, file) : key_equal(&key, directory);
}

/* Judge the file by one of its names. */
static bool judge_name(ExtentPlaces *places, const BtrfsName *name, Verdict *verdict,
		       GError **error)
{
	const GPtrArray *roots = places->filesystem->roots;
	unsigned met = 0;

	g_ptr_array_set_size(places->way, 0);
	while (name && !verdict->is_in && places->way->len < CLIMB_MAX) {
		PlaceKey directory = { name->root, name->directory };
		bool is_first = places->way->len == 0;

		met |= meet(places, &directory);
		g_ptr_array_add(places->way, (char *)name->name);
		for (guint i = 0; i < roots->len && !verdict->is_in; i++)
			if (begins_at(roots->pdata[i], &directory, is_first ? &verdict->key : NULL))
				judge_way(places, roots->pdata[i], met, verdict);

		if (!btrfs_names_of_directory(places->names, directory.root, directory.inode, &name,
					      error))
			return false;
	}

	return true;
}

static bool judge_file(ExtentPlaces *places, Verdict *verdict, GError **error)
{
	places->n_files++;
	btrfs_names_start(places->names, verdict->key.root, verdict->key.inode);
	while (!verdict->is_in) {
		const BtrfsName *name;

		if (!btrfs_names_next(places->names, &name, error))
			return false;
		if (!name)
			break;
		if (!judge_name(places, name, verdict, error))
			return false;
	}

	return true;
}

static bool find_verdict(ExtentPlaces *places, const PlaceKey *key, const Verdict **ret,
			 GError **error)
{
	Verdict *verdict = g_hash_table_lookup(places->verdicts, key);
	Verdict judged = { .key = *key, .reason = SKIP_OUTSIDE };

	if (!verdict) {
		if (!judge_file(places, &judged, error))
			return false;
		if (g_hash_table_size(places->verdicts) >= VERDICTS_MAX)
			g_hash_table_remove_all(places->verdicts);
		verdict = g_memdup2(&judged, sizeof(judged));
		g_hash_table_insert(places->verdicts, &verdict->key, verdict);
	}

	*ret = verdict;
	return true;
}

bool extent_places_has(ExtentPlaces *places, const ExtentRef *place, bool *ret,
		       SkipReason *ret_reason, GError **error)
{
	const PlaceKey key = { place->root, place->inode };
	const Verdict *verdict;

	*ret = true;
	if (!places->is_limited)
		return true;
	if (!find_verdict(places, &key, &verdict, error))
		return false;

	if (!verdict->is_in) {
		*ret = false;
		*ret_reason = verdict->reason;
	} else if (places->settings->min_size_bytes != SETTINGS_MIN_SIZE_UNSET &&
		   filter_is_small(places->filter, place->size_bytes)) {
		*ret = false;
		*ret_reason = SKIP_SMALL;
	}

	return true;
}

/* The path by one of the file's names; *ret_is_below: it begins with a root of the pass. */
static char *path_by_name(ExtentPlaces *places, const PlaceKey *file, const BtrfsName *name,
			  bool *ret_is_below)
{
	const GPtrArray *roots = places->filesystem->roots;
	g_autofree char *by_mount = NULL;

	*ret_is_below = true;
	g_ptr_array_set_size(places->way, 0);
	while (name && places->way->len < CLIMB_MAX) {
		PlaceKey directory = { name->root, name->directory };
		bool is_first = places->way->len == 0;

		g_ptr_array_add(places->way, (char *)name->name);
		for (guint i = 0; i < roots->len; i++) {
			const FilesystemRoot *root = roots->pdata[i];

			if (begins_at(root, &directory, is_first ? file : NULL))
				return root->is_file ? g_strdup(root->path)
						     : path_of_way(places, root->path);
		}
		if (!by_mount && key_equal(&directory, &places->mount))
			by_mount = path_of_way(places, places->filesystem->mount_point);
		if (!btrfs_names_of_directory(places->names, directory.root, directory.inode, &name,
					      NULL))
			return NULL;
	}

	*ret_is_below = false;
	return by_mount ? g_steal_pointer(&by_mount) : path_of_way(places, "<FS_TREE>");
}

char *extent_places_path(ExtentPlaces *places, const ExtentRef *place)
{
	const PlaceKey key = { place->root, place->inode };
	g_autofree char *path = NULL;
	bool is_below = false;

	btrfs_names_start(places->names, key.root, key.inode);
	while (!is_below) {
		g_autofree char *found = NULL;
		const BtrfsName *name;

		if (!btrfs_names_next(places->names, &name, NULL) || !name)
			break;
		found = path_by_name(places, &key, name, &is_below);
		if (!path || is_below) {
			g_free(path);
			path = g_steal_pointer(&found);
		}
	}

	return g_steal_pointer(&path);
}

char *extent_places_example(ExtentPlaces *places, const Object *extent)
{
	ExtentRefsOutcome outcome;
	const ExtentRef *found;
	size_t n;

	if (!extent_refs_read(places->refs, extent, EXAMPLE_REFS, &outcome, NULL))
		return NULL;

	found = extent_refs_list(places->refs, &n);
	return n > 0 ? extent_places_path(places, &found[0]) : NULL;
}
