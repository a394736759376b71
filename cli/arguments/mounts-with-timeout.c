/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/mounts-with-timeout.h"

#include "cli/arguments/timed-look.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEDUPE_FAILURE_BYTES 8192
#define TAGS_BYTES           4096

/* Answers that are taken at a time. */
#define ANSWERS_MOST 64

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

/* The sights of all filesystems. */
typedef struct {
	const GPtrArray *all; /* MountedFilesystem */
	char *memory;
	size_t *offsets; /* of each, and the number of bytes behind the last */
} Sights;

/* A multiple of what the next one has to begin at. */
static size_t sight_bytes(const MountedFilesystem *filesystem)
{
	const Sight *sight;
	size_t n_bytes =
		sizeof(*sight) + filesystem->mount_points->len * sizeof(sight->mount_points[0]);

	return (n_bytes + _Alignof(Sight) - 1) / _Alignof(Sight) * _Alignof(Sight);
}

static Sight *sight_of(const Sights *sights, guint i)
{
	return (Sight *)(void *)(sights->memory + sights->offsets[i]);
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

static void look_without_timeout(const GPtrArray *all, guint first)
{
	for (guint i = first; i < all->len; i++)
		mounted_filesystem_examine(all->pdata[i], NULL);
}

/* In a process of its own: look at the filesystems from @first on, and write a byte for each. */
static void look_and_tell(const Sights *sights, guint first, int fd)
{
	for (guint i = first; i < sights->all->len; i++) {
		mounted_filesystem_examine(sights->all->pdata[i], NULL);
		put(sight_of(sights, i), sights->all->pdata[i]);
		if (write(fd, "", 1) != 1)
			return;
	}
}

/* The number of filesystems that are told next; 0: the process has ended or *@ret_hangs. */
static guint wait_for_answers(int fd, bool *ret_hangs)
{
	char answers[ANSWERS_MOST];
	ssize_t n;

	*ret_hangs = !timed_look_wait(fd);
	if (*ret_hangs)
		return 0;

	do
		n = read(fd, answers, sizeof(answers));
	while (n < 0 && errno == EINTR);
	return n > 0 ? (guint)n : 0;
}

/* Have a process look at the filesystems from @first on.  Returns the first one that it does not answer for. */
static guint look(const Sights *sights, guint first)
{
	g_auto(Fd) fd = -1;
	pid_t child = timed_look_start(&fd);
	guint next = first, n;
	bool hangs;

	if (child == 0) {
		look_and_tell(sights, first, fd);
		_exit(0);
	}
	if (child < 0) {
		look_without_timeout(sights->all, first);
		return sights->all->len;
	}

	while ((n = wait_for_answers(fd, &hangs)) > 0)
		for (guint end = MIN(next + n, sights->all->len); next < end; next++)
			take(sight_of(sights, next), sights->all->pdata[next]);
	(void)timed_look_end(child, hangs);
	return next;
}

/* The offsets at which sights begin, one for each filesystem. */
static size_t *find_offsets(const GPtrArray *all)
{
	size_t *offsets = g_new0(size_t, all->len + 1);

	for (guint i = 0; i < all->len; i++)
		offsets[i + 1] = offsets[i] + sight_bytes(all->pdata[i]);
	return offsets;
}

/* One process looks at all filesystems.  If it hangs, another one looks at those behind. */
static void look_at_all(const GPtrArray *all)
{
	g_autofree size_t *offsets = find_offsets(all);
	Sights sights = { .all = all, .offsets = offsets };

	if (all->len == 0)
		return;

	sights.memory = mmap(NULL, offsets[all->len], PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sights.memory == MAP_FAILED) {
		look_without_timeout(all, 0);
		return;
	}
	for (guint i = look(&sights, 0); i < all->len; i = look(&sights, i + 1))
		mounted_filesystem_set_silent(all->pdata[i]);
	munmap(sights.memory, offsets[all->len]);
}

MountTable *mounts_with_timeout_read(GError **error)
{
	MountTable *mounts = mount_table_list(NULL, NULL, error);

	if (!mounts)
		return NULL;

	look_at_all(mount_table_filesystems(mounts));
	mount_table_conclude(mounts);
	return mounts;
}
