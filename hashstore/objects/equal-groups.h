/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/objects/objects.h"

/*
 * EqualGroups - all objects with the size and digest of another one, in groups, by descending bytes that
 * could be freed.
 *
 * Every record is read once; records are sorted within the memory limit.  Members of a group are equal as far
 * as the store knows.
 *
 * Thread: the owner's of the store.
 */
typedef struct EqualGroups EqualGroups;

typedef enum {
	EQUAL_FILES,   /* versions of files */
	EQUAL_EXTENTS, /* data extents of btrfs; one with several references is a group, too */
	/* The same, but each extent is a group: a later pass may have given it several references. */
	EQUAL_OR_ALONE_EXTENTS,
} EqualKind;

/* The most members of a group that are returned. */
#define EQUAL_GROUP_MEMBERS_MAX (1u << 20)

typedef struct {
	uint64_t size_bytes; /* of each */
	uint64_t n_objects;  /* in all */
	const uint32_t *ids; /* of the objects, rising; valid until the next call */
	size_t n_ids;
} EqualGroup;

/* Objects below @min_bytes are left out. */
EqualGroups *equal_groups_open(HashStore *store, EqualKind kind, uint64_t min_bytes,
			       size_t memory_bytes, GError **error);

/* The next group; NULL at the end. */
bool equal_groups_next(EqualGroups *groups, const EqualGroup **ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
void equal_groups_close(EqualGroups *groups);

/* The bytes of all members but one. */
uint64_t equal_group_spare_bytes(const EqualGroup *group);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(EqualGroups, equal_groups_close)
