/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/file-opener.h"

#include "daemon/context/known-file.h"
#include "hashstore/objects/names.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define OPEN_DIRECTORIES 64
#define CLIMB_MAX        4096

typedef struct {
	uint64_t subvolume;
	uint64_t inode;
	int fd;
	uint64_t used; /* when last used */
} OpenDirectory;

struct FileOpener {
	const Filesystem *filesystem;
	HashStore *store;
	uint64_t clock;
	OpenDirectory directories[OPEN_DIRECTORIES];
};

FileOpener *file_opener_new(const Filesystem *filesystem, HashStore *store)
{
	FileOpener *opener = g_new0(FileOpener, 1);

	opener->filesystem = filesystem;
	opener->store = store;
	for (size_t i = 0; i < OPEN_DIRECTORIES; i++)
		opener->directories[i].fd = -1;
	return opener;
}

void file_opener_free(FileOpener *opener)
{
	if (!opener)
		return;

	for (size_t i = 0; i < OPEN_DIRECTORIES; i++)
		fd_close(&opener->directories[i].fd);
	g_free(opener);
}

static int find_open(FileOpener *opener, uint64_t subvolume, uint64_t inode)
{
	for (size_t i = 0; i < OPEN_DIRECTORIES; i++) {
		OpenDirectory *directory = &opener->directories[i];

		if (directory->fd >= 0 && directory->inode == inode &&
		    directory->subvolume == subvolume) {
			directory->used = ++opener->clock;
			return directory->fd;
		}
	}

	return -1;
}

/* Keep @fd in the place of the least recently used one. */
static int keep_open(FileOpener *opener, uint64_t subvolume, uint64_t inode, int fd)
{
	OpenDirectory *place = &opener->directories[0];

	for (size_t i = 1; i < OPEN_DIRECTORIES && place->fd >= 0; i++)
		if (opener->directories[i].fd < 0 || opener->directories[i].used < place->used)
			place = &opener->directories[i];

	fd_close(&place->fd);
	*place = (OpenDirectory){ subvolume, inode, fd, ++opener->clock };
	return fd;
}

/* One step of a climb, innermost first. */
typedef struct {
	uint64_t subvolume;
	uint64_t inode;
	char *name;
} Step;

static void step_clear(Step *step)
{
	g_free(step->name);
}

/*
 * Find the steps from the directory up to a root, or to a directory that is open.  False: the names do not reach
 * that far.
 */
static bool climb(FileOpener *opener, uint64_t subvolume, uint64_t inode, GArray *steps,
		  int *ret_open)
{
	*ret_open = -1;
	for (int i = 0; i < CLIMB_MAX; i++) {
		const DirectoryName *found = NULL;
		g_autoptr(GError) error = NULL;
		Step step = { subvolume, inode, NULL };

		*ret_open = find_open(opener, subvolume, inode);
		if (*ret_open >= 0)
			return true;
		if (!hash_store_find_directory(opener->store, subvolume, inode, &found, &error) ||
		    !found)
			return false;

		step.name = g_strndup((const char *)found->name, found->name_bytes);
		g_array_append_val(steps, step);
		if (found->parent == 0)
			return true;

		subvolume = found->parent_subvolume;
		inode = found->parent;
	}

	return false;
}

static GArray *steps_new(void)
{
	GArray *steps = g_array_new(false, false, sizeof(Step));

	g_array_set_clear_func(steps, (GDestroyNotify)step_clear);
	return steps;
}

/* Open a root by its path.  Another user may own a part of the path, so the result is checked. */
static int open_root(const FileOpener *opener, const Step *step)
{
	const FsIdentity *identity = &opener->filesystem->identity;
	g_auto(Fd) fd =
		open(step->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	FsIdentity opened;
	uint64_t subvolume;

	if (fd < 0)
		return -1;
	if (!fs_identity_read(fd, &opened, NULL) ||
	    memcmp(opened.uuid, identity->uuid, FS_UUID_BYTES) != 0 ||
	    !fs_subvolume_read(fd, identity->kind, &subvolume, NULL) ||
	    subvolume != step->subvolume) {
		errno = ESTALE;
		return -1;
	}

	return fd_steal(&fd);
}

/* Open the directory below @parent, or a root where that is -1.  -1 with errno: ESTALE if it is another one. */
static int open_step(const FileOpener *opener, int parent, const Step *step)
{
	g_auto(Fd) fd = parent < 0 ? open_root(opener, step)
				   : openat(parent, step->name,
					    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	FileStat stat;

	if (fd < 0)
		return -1;

	errno = file_stat_at(fd, "", &stat);
	if (errno)
		return -1;
	if (stat.inode != step->inode || (parent >= 0 && stat.is_mount_root)) {
		errno = ESTALE;
		return -1;
	}

	return fd_steal(&fd);
}

int file_opener_directory(FileOpener *opener, uint64_t subvolume, uint64_t inode)
{
	g_autoptr(GArray) steps = steps_new();
	int parent;

	if (!climb(opener, subvolume, inode, steps, &parent)) {
		errno = ENOENT;
		return -1;
	}

	for (size_t i = steps->len; i > 0; i--) {
		const Step *step = &g_array_index(steps, Step, i - 1);
		int fd = open_step(opener, parent, step);

		if (fd < 0)
			return -1;
		parent = keep_open(opener, step->subvolume, step->inode, fd);
	}

	return parent;
}

bool file_opener_needs_names(const FileOpener *opener, uint64_t generation)
{
	return generation == 0 || !opener->filesystem->opens_by_id;
}

OpenOutcome file_opener_open(FileOpener *opener, const NamedFile *file, int *ret_fd, int *ret_errno)
{
	int directory;

	if (!file_opener_needs_names(opener, file->id.generation))
		return open_file_by_id(opener->filesystem->fd, opener->filesystem->identity.kind,
				       &file->id, ret_fd, ret_errno);

	directory = file_opener_directory(opener, file->id.subvolume, file->parent);
	if (directory < 0) {
		*ret_fd = -1;
		*ret_errno = errno;
		return open_outcome_of(*ret_errno);
	}

	return open_file_at(directory, file->name, ret_fd, ret_errno);
}

OpenOutcome file_opener_open_object(FileOpener *opener, const Object *object, int *ret_fd,
				    int *ret_errno)
{
	g_autofree char *name = g_strndup((const char *)object->name, object->name_bytes);
	NamedFile file = { { object->subvolume, object->inode, object->generation },
			   object->parent,
			   name };

	return file_opener_open(opener, &file, ret_fd, ret_errno);
}

int file_opener_open_unchanged(FileOpener *opener, const Object *object)
{
	uint64_t inode = object->inode;
	Stamp then = known_file_stamp(object);
	g_auto(Fd) fd = -1;
	FileStat stat;
	Stamp now;
	int failed;

	if (file_opener_open_object(opener, object, &fd, &failed) != OPEN_OPENED ||
	    file_stat_at(fd, "", &stat) != 0 || stat.inode != inode)
		return -1;

	now = known_file_present_stamp(&stat);
	return stamp_compare(&then, &now) == STAMP_SAME ? fd_steal(&fd) : -1;
}

char *file_opener_path(FileOpener *opener, uint64_t subvolume, uint64_t parent, const char *name)
{
	g_autofree char *directory = hash_store_directory_path(opener->store, subvolume, parent);

	return g_strconcat(directory, g_str_has_suffix(directory, "/") ? "" : "/", name, NULL);
}

SkipReason file_opener_skip_reason(OpenOutcome outcome)
{
	switch (outcome) {
	case OPEN_LEASED:
		return SKIP_LEASED;
	case OPEN_DENIED:
		return SKIP_DENIED;
	case OPEN_UNREADABLE:
		return SKIP_UNREADABLE;
	case OPEN_OPENED:
	case OPEN_GONE:
	case OPEN_NOT_REGULAR:
		return SKIP_CHANGED;
	case OPEN_FAILED:
		break;
	}

	return SKIP_BUSY;
}
