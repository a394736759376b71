/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/full-alloc-groups.h"

#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/xfs/xfs-geometry.h"

#include <errno.h>
#include <sys/stat.h>

struct FullAllocGroups {
	uint64_t group_bytes; /* 0: there are none */
	GHashTable *full;     /* FullGroup: all of them */
	GHashTable *owners;   /* Owner: those whose quota is used up */
};

/* A group without room for targets of a project; 0: of no project. */
typedef struct {
	uint32_t number;
	uint32_t project;
} FullGroup;

/* The user, group and project whose quotas a file counts to. */
typedef struct {
	uint32_t user;
	uint32_t group;
	uint32_t project;
} Owner;

static guint hash_group(gconstpointer data)
{
	const FullGroup *group = data;

	return group->number * 31 + group->project;
}

static gboolean is_same_group(gconstpointer data, gconstpointer other_data)
{
	const FullGroup *group = data;
	const FullGroup *other = other_data;

	return group->number == other->number && group->project == other->project;
}

static guint hash_owner(gconstpointer data)
{
	const Owner *owner = data;

	return (owner->user * 31 + owner->group) * 31 + owner->project;
}

static gboolean is_same_owner(gconstpointer data, gconstpointer other_data)
{
	const Owner *owner = data;
	const Owner *other = other_data;

	return owner->user == other->user && owner->group == other->group &&
	       owner->project == other->project;
}

FullAllocGroups *full_alloc_groups_new(const Filesystem *filesystem)
{
	FullAllocGroups *groups = g_new0(FullAllocGroups, 1);
	g_autoptr(GError) unread = NULL;
	XfsGeometry geometry;

	groups->full = g_hash_table_new_full(hash_group, is_same_group, g_free, NULL);
	groups->owners = g_hash_table_new_full(hash_owner, is_same_owner, g_free, NULL);
	if (filesystem->identity.kind == FS_KIND_XFS &&
	    xfs_geometry_read(filesystem->fd, &geometry, &unread))
		groups->group_bytes = (uint64_t)geometry.group_blocks * geometry.block_bytes;
	return groups;
}

void full_alloc_groups_free(FullAllocGroups *groups)
{
	if (!groups)
		return;

	g_hash_table_unref(groups->full);
	g_hash_table_unref(groups->owners);
	g_free(groups);
}

static uint32_t number_of(const FullAllocGroups *groups, uint64_t physical)
{
	return (uint32_t)(physical / groups->group_bytes);
}

/* The owner of the window's target; false: that cannot be found out. */
static bool read_owner(const DedupeWindow *window, Owner *ret)
{
	int fd = file_reader_fd(window->target->reader);
	struct stat stat;

	if (fstat(fd, &stat) != 0 || !file_attributes_read_project(fd, &ret->project))
		return false;

	ret->user = stat.st_uid;
	ret->group = stat.st_gid;
	return true;
}

/* Note the group of the first block in [@first, @end) that is not shared yet. */
static bool add_group(FullAllocGroups *groups, DedupeWindow *window, size_t first, size_t end,
		      uint32_t project)
{
	FullGroup *group;

	if (!window->source)
		return false;

	while (first < end && dedupe_window_is_shared(window, first))
		first++;
	if (first == end)
		return false;

	group = g_new0(FullGroup, 1);
	group->number = number_of(groups, window->source_places[first]);
	group->project = project;
	g_hash_table_add(groups->full, group);
	return true;
}

bool full_alloc_groups_add(FullAllocGroups *groups, DedupeWindow *window, size_t first, size_t end,
			   int error)
{
	g_autoptr(GError) unmapped = NULL;
	Owner owner;

	/* Blocks that were shared before the error count. */
	if (groups->group_bytes == 0 || (error != ENOSPC && error != EDQUOT) ||
	    !read_owner(window, &owner) || !dedupe_window_map_again(window, &unmapped))
		return false;
	if (error == ENOSPC)
		return add_group(groups, window, first, end, owner.project);

	g_hash_table_add(groups->owners, g_memdup2(&owner, sizeof(owner)));
	return true;
}

static bool is_wanted(const DedupeWindow *window, size_t i)
{
	return (window->states[i] == BLOCK_CANDIDATE || window->states[i] == BLOCK_EQUAL) &&
	       !dedupe_window_is_shared(window, i);
}

/* A hole is in no group. */
static bool is_in_full_group(const FullAllocGroups *groups, const DedupeWindow *window, size_t i,
			     uint32_t project)
{
	FullGroup group = { .project = project };

	if (!window->source)
		return false;

	group.number = number_of(groups, window->source_places[i]);
	return g_hash_table_contains(groups->full, &group);
}

uint64_t full_alloc_groups_leave(const FullAllocGroups *groups, DedupeWindow *window)
{
	uint64_t bytes = 0;
	bool is_used_up;
	Owner owner;

	if (g_hash_table_size(groups->full) + g_hash_table_size(groups->owners) == 0 ||
	    !read_owner(window, &owner))
		return 0;

	is_used_up = g_hash_table_contains(groups->owners, &owner);
	for (size_t i = 0; i < window->n; i++) {
		if (!is_wanted(window, i) ||
		    !(is_used_up || is_in_full_group(groups, window, i, owner.project)))
			continue;
		window->states[i] = BLOCK_UNUSABLE;
		bytes += window->block_bytes;
	}
	return bytes;
}
