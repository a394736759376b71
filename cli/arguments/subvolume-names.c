/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/subvolume-names.h"

#include "cli/terminal/message.h"
#include "common/text/usage-error.h"
#include "kernel-ioctl/btrfs/btrfs-names.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/fs-identity.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SEPARATOR ".."

int subvolume_open(const char *path, uint64_t *ret_id, GError **error)
{
	g_auto(Fd) fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	g_autofree char *safe = message_text(path);
	FsIdentity identity;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0) {
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cannot read %s: %s", safe, g_strerror(errno));
		return -1;
	}
	if (!fs_identity_read(fd, &identity, error))
		return -1;
	if (identity.kind != FS_KIND_BTRFS || status.st_ino != BTRFS_NAMES_TOP_INODE) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s is not a btrfs subvolume",
			    safe);
		return -1;
	}
	if (!fs_subvolume_read(fd, FS_KIND_BTRFS, ret_id, error))
		return -1;
	return fd_steal(&fd);
}

static bool is_directory(const char *path)
{
	return g_file_test(path, G_FILE_TEST_IS_DIR);
}

/* The directory that @last means after @first; NULL: none. */
static char *find_last(const char *first, const char *last)
{
	g_autofree char *directory = g_path_get_dirname(first);
	g_autofree char *beside = g_build_filename(directory, last, NULL);

	if (!g_path_is_absolute(last) && is_directory(beside))
		return g_steal_pointer(&beside);
	return is_directory(last) ? g_strdup(last) : NULL;
}

bool subvolume_range_split(const char *text, char **ret_first, char **ret_last)
{
	if (is_directory(text))
		return false;

	for (const char *at = strstr(text, SEPARATOR); at; at = strstr(at + 1, SEPARATOR)) {
		g_autofree char *first = g_strndup(text, (gsize)(at - text));
		const char *last = at + strlen(SEPARATOR);

		/* "/../" is a step up. */
		if (*last == '\0' || g_str_has_suffix(first, "/") || !is_directory(first))
			continue;
		*ret_last = find_last(first, last);
		if (!*ret_last)
			continue;
		*ret_first = g_steal_pointer(&first);
		return true;
	}

	return false;
}

static const BtrfsSubvolume *at(const GArray *subvolumes, guint place)
{
	return &g_array_index(subvolumes, BtrfsSubvolume, place);
}

static bool is_same(const uint8_t *one, const uint8_t *other)
{
	return fs_uuid_is_set(one) && fs_uuid_equal(one, other);
}

/* In one transaction, the lower id was created first. */
static int compare_age(const BtrfsSubvolume *a, const BtrfsSubvolume *b)
{
	if (a->otransid != b->otransid)
		return a->otransid < b->otransid ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int compare_places(const void *one, const void *other, void *data)
{
	return compare_age(at(data, *(const guint *)one), at(data, *(const guint *)other));
}

static GArray *list_siblings(const GArray *subvolumes, const BtrfsSubvolume *first,
			     const BtrfsSubvolume *last)
{
	GArray *places = g_array_new(false, false, sizeof(guint));

	for (guint i = 0; i < subvolumes->len; i++) {
		const BtrfsSubvolume *one = at(subvolumes, i);

		if (!one->is_dead && is_same(one->parent_uuid, first->parent_uuid) &&
		    compare_age(one, first) >= 0 && compare_age(one, last) <= 0)
			g_array_append_val(places, i);
	}

	g_array_sort_with_data(places, compare_places, (gpointer)subvolumes);
	return places;
}

static bool find_parent(const GArray *subvolumes, guint place, guint *ret)
{
	for (guint i = 0; i < subvolumes->len; i++) {
		*ret = i;
		if (is_same(at(subvolumes, i)->uuid, at(subvolumes, place)->parent_uuid))
			return true;
	}
	return false;
}

/* Go from @last back to @first; NULL if the chain does not lead there. */
static GArray *list_line(const GArray *subvolumes, guint first, guint last)
{
	g_autoptr(GArray) places = g_array_new(false, false, sizeof(guint));
	guint place = last;

	/* A longer chain is a cycle. */
	while (places->len < subvolumes->len) {
		g_array_prepend_val(places, place);
		if (place == first)
			return g_steal_pointer(&places);
		if (!find_parent(subvolumes, place, &place))
			return NULL;
	}

	return NULL;
}

GArray *subvolume_range_list(const GArray *subvolumes, guint first, guint last, GError **error)
{
	const BtrfsSubvolume *one = at(subvolumes, first), *other = at(subvolumes, last);
	GArray *places = list_line(subvolumes, first, last);

	if (places)
		return places;
	if (!is_same(one->parent_uuid, other->parent_uuid)) {
		usage_error_set(error, "they are not snapshots of the same subvolume");
		return NULL;
	}
	if (compare_age(one, other) <= 0)
		return list_siblings(subvolumes, one, other);

	usage_error_set(error, "the second was created before the first");
	return NULL;
}
