/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/btrfs/btrfs-families.h"

#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#define LOOK_USEC     G_USEC_PER_SEC
#define LOOK_FRACTION 20

struct BtrfsFamilies {
	int fd;
	gint64 due_usec;       /* when to read the subvolumes again */
	GArray *subvolumes;    /* BtrfsSubvolume, by ascending id */
	GArray *members;       /* BtrfsMember, one per subvolume */
	GHashTable *alive;     /* UUIDs in subvolumes */
	GHashTable *untouched; /* GArray of BtrfsUntouched, or NULL, by BtrfsMember */
	uint64_t n_lost;
	bool has_writable_snapshots;
	uint64_t largest;
};

static void free_untouched(void *array)
{
	if (array)
		g_array_unref(array);
}

BtrfsFamilies *btrfs_families_new(int fd)
{
	BtrfsFamilies *families = g_new0(BtrfsFamilies, 1);

	families->fd = fd;
	families->largest = 1;
	families->subvolumes = g_array_new(false, false, sizeof(BtrfsSubvolume));
	families->members = g_array_new(false, false, sizeof(BtrfsMember));
	families->alive = g_hash_table_new(fs_uuid_hash, fs_uuid_equal);
	families->untouched = g_hash_table_new_full(NULL, NULL, NULL, free_untouched);
	return families;
}

void btrfs_families_free(BtrfsFamilies *families)
{
	if (!families)
		return;

	g_hash_table_unref(families->untouched);
	g_hash_table_unref(families->alive);
	g_array_unref(families->members);
	g_array_unref(families->subvolumes);
	g_free(families);
}

static BtrfsSubvolume *subvolume_at(const BtrfsFamilies *families, guint i)
{
	return &g_array_index(families->subvolumes, BtrfsSubvolume, i);
}

static BtrfsMember *member_at(const BtrfsFamilies *families, guint i)
{
	return &g_array_index(families->members, BtrfsMember, i);
}

static bool is_lost(const BtrfsFamilies *families, const BtrfsSubvolume *subvolume)
{
	return fs_uuid_is_set(subvolume->parent_uuid) &&
	       !g_hash_table_contains(families->alive, subvolume->parent_uuid);
}

/* The representative of the family of @number.  Shortens the path for the next search. */
static guint find_family(GArray *families, guint number)
{
	guint *up = (guint *)(void *)families->data;

	while (up[number] != number)
		number = up[number] = up[up[number]];
	return number;
}

/* Join the subvolume with those that have @uuid, and with snapshots of these. */
static void join(GArray *families, GHashTable *by_uuid, uint8_t *uuid, guint number)
{
	gpointer known;

	if (!fs_uuid_is_set(uuid))
		return;
	if (g_hash_table_lookup_extended(by_uuid, uuid, NULL, &known))
		g_array_index(families, guint, find_family(families, number)) =
			find_family(families, GPOINTER_TO_UINT(known));
	else
		g_hash_table_insert(by_uuid, uuid, GUINT_TO_POINTER(number));
}

/* Give each subvolume the number of its family. */
static void find_members(BtrfsFamilies *families)
{
	g_autoptr(GHashTable) by_uuid = g_hash_table_new(fs_uuid_hash, fs_uuid_equal);
	g_autoptr(GArray) numbers = g_array_new(false, false, sizeof(guint));
	guint n = families->subvolumes->len;

	for (guint i = 0; i < n; i++)
		g_array_append_val(numbers, i);
	for (guint i = 0; i < n; i++) {
		BtrfsSubvolume *subvolume = subvolume_at(families, i);

		join(numbers, by_uuid, subvolume->uuid, i);
		join(numbers, by_uuid, subvolume->parent_uuid, i);
	}

	g_array_set_size(families->members, n);
	for (guint i = 0; i < n; i++)
		*member_at(families, i) = (BtrfsMember){
			.id = subvolume_at(families, i)->id,
			.family = find_family(numbers, i),
		};
}

/* Count the members of each family.  A lost subvolume may belong to any family. */
static void count_members(BtrfsFamilies *families)
{
	guint n = families->members->len;
	g_autofree uint64_t *sizes = g_new0(uint64_t, n);

	families->n_lost = 0;
	families->has_writable_snapshots = false;
	g_hash_table_remove_all(families->alive);
	for (guint i = 0; i < n; i++)
		g_hash_table_add(families->alive, subvolume_at(families, i)->uuid);
	for (guint i = 0; i < n; i++) {
		const BtrfsSubvolume *subvolume = subvolume_at(families, i);

		families->n_lost += is_lost(families, subvolume);
		families->has_writable_snapshots |=
			!subvolume->is_read_only && (fs_uuid_is_set(subvolume->parent_uuid) ||
						     !fs_uuid_is_set(subvolume->uuid));
		sizes[member_at(families, i)->family]++;
	}

	families->largest = 1;
	for (guint i = 0; i < n; i++) {
		BtrfsMember *member = member_at(families, i);

		member->size = sizes[member->family] + families->n_lost;
		families->largest = MAX(families->largest, member->size);
	}
}

bool btrfs_families_look(BtrfsFamilies *families, GError **error)
{
	gint64 begun_usec = g_get_monotonic_time();
	GArray *subvolumes;
	gint64 now_usec;

	if (begun_usec < families->due_usec)
		return true;
	if (!btrfs_subvolumes_read(families->fd, &subvolumes, error))
		return false;

	g_hash_table_remove_all(families->untouched);
	g_array_unref(families->subvolumes);
	families->subvolumes = subvolumes;
	find_members(families);
	count_members(families);
	now_usec = g_get_monotonic_time();
	families->due_usec = now_usec + MAX(LOOK_USEC, (now_usec - begun_usec) * LOOK_FRACTION);
	return true;
}

bool btrfs_families_have_writable_snapshots(const BtrfsFamilies *families)
{
	return families->has_writable_snapshots;
}

const BtrfsMember *btrfs_families_find(const BtrfsFamilies *families, uint64_t id)
{
	const BtrfsSubvolume *subvolume = btrfs_subvolumes_find(families->subvolumes, id);

	return subvolume ? member_at(families, (guint)(subvolume - subvolume_at(families, 0)))
			 : NULL;
}

uint64_t btrfs_families_largest(const BtrfsFamilies *families)
{
	return families->largest;
}

/*
 * A write to a subvolume gives it a new generation; so does moving its blocks, as a balance does.  Only the
 * first member of a family has no live parent, so each other one is a snapshot of it or of another member.
 */
static bool is_untouched(const BtrfsFamilies *families, const BtrfsSubvolume *subvolume)
{
	return subvolume->is_read_only && !subvolume->is_dead && subvolume->otransid != 0 &&
	       subvolume->generation == subvolume->otransid &&
	       fs_uuid_is_set(subvolume->parent_uuid) && !is_lost(families, subvolume);
}

static GArray *find_untouched(const BtrfsFamilies *families, const BtrfsMember *member)
{
	g_autoptr(GArray) found = g_array_new(false, false, sizeof(BtrfsUntouched));
	const BtrfsSubvolume *first =
		subvolume_at(families, (guint)(member - member_at(families, 0)));

	/* A subvolume without a UUID cannot be matched with its snapshots. */
	if (first->is_dead || !fs_uuid_is_set(first->uuid) ||
	    families->n_lost > is_lost(families, first))
		return NULL;
	for (guint i = 0; i < families->members->len; i++) {
		const BtrfsSubvolume *other = subvolume_at(families, i);
		BtrfsUntouched untouched = { other->id, other->otransid };

		if (member_at(families, i)->family != member->family || other == first)
			continue;
		if (!is_untouched(families, other))
			return NULL;
		g_array_append_val(found, untouched);
	}

	return g_steal_pointer(&found);
}

const GArray *btrfs_families_untouched(BtrfsFamilies *families, uint64_t id)
{
	const BtrfsMember *member = btrfs_families_find(families, id);
	gpointer known;

	if (!member)
		return NULL;
	if (!g_hash_table_lookup_extended(families->untouched, member, NULL, &known)) {
		known = find_untouched(families, member);
		g_hash_table_insert(families->untouched, (gpointer)member, known);
	}

	return known;
}
