/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/mounts-with-timeout.h"

#include "cli/arguments/timed-look.h"
#include "kernel-ioctl/call/fd.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEDUPE_FAILURE_BYTES 8192
#define TAGS_BYTES           4096

/* The result of a look, in memory that both processes share. */
typedef struct {
	FsIdentity identity;
	char uuid[FS_UUID_TEXT_BYTES];
	char refusal[DEDUPE_FAILURE_BYTES]; /* empty: none */
	char tags[TAGS_BYTES];              /* a line each */
	struct {
		bool is_reachable;
		int failure;
	} mount_points[];
} Sight;

static size_t sight_bytes(const MountedFilesystem *filesystem)
{
	Sight *sight;

	return sizeof(*sight) + filesystem->mount_points->len * sizeof(sight->mount_points[0]);
}

/* Report the result for @filesystem. */
static void put(Sight *sight, const MountedFilesystem *filesystem)
{
	sight->identity = filesystem->identity;
	memcpy(sight->uuid, filesystem->uuid, sizeof(sight->uuid));
	if (filesystem->refusal)
		g_strlcpy(sight->refusal, filesystem->refusal, sizeof(sight->refusal));
	if (filesystem->tags) {
		g_autofree char *lines = g_strjoinv("\n", filesystem->tags);

		g_strlcpy(sight->tags, lines, sizeof(sight->tags));
	}
	for (size_t i = 0; i < filesystem->mount_points->len; i++) {
		const MountPoint *mount_point = filesystem->mount_points->pdata[i];

		sight->mount_points[i].is_reachable = mount_point->is_reachable;
		sight->mount_points[i].failure = mount_point->failure;
	}
}

static void take(const Sight *sight, MountedFilesystem *filesystem)
{
	filesystem->identity = sight->identity;
	memcpy(filesystem->uuid, sight->uuid, sizeof(filesystem->uuid));
	if (sight->refusal[0] != '\0')
		filesystem->refusal = g_strdup(sight->refusal);
	filesystem->tags = g_strsplit(sight->tags, "\n", -1);
	for (size_t i = 0; i < filesystem->mount_points->len; i++) {
		MountPoint *mount_point = filesystem->mount_points->pdata[i];

		mount_point->is_reachable = sight->mount_points[i].is_reachable;
		mount_point->failure = sight->mount_points[i].failure;
	}
}

/* Returns false if it did not answer. */
static bool look(Sight *sight, MountedFilesystem *filesystem)
{
	g_auto(Fd) ended_fd = -1;
	pid_t child = timed_look_start(&ended_fd);

	if (child <= 0)
		mounted_filesystem_examine(filesystem, NULL);
	if (child == 0) {
		put(sight, filesystem);
		_exit(0);
	}
	if (child < 0)
		return true;
	if (!timed_look_end(child, !timed_look_wait(ended_fd)))
		return false;

	take(sight, filesystem);
	return true;
}

static void look_at(MountedFilesystem *filesystem)
{
	size_t n_bytes = sight_bytes(filesystem);
	Sight *sight =
		mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (sight == MAP_FAILED) {
		mounted_filesystem_examine(filesystem, NULL);
		return;
	}
	if (!look(sight, filesystem))
		mounted_filesystem_set_silent(filesystem);
	munmap(sight, n_bytes);
}

MountTable *mounts_with_timeout_read(GError **error)
{
	MountTable *mounts = mount_table_list(NULL, NULL, error);
	const GPtrArray *all;

	if (!mounts)
		return NULL;

	all = mount_table_filesystems(mounts);
	for (size_t i = 0; i < all->len; i++)
		look_at(all->pdata[i]);
	mount_table_conclude(mounts);
	return mounts;
}
