/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/stand-ins.h"

#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"

/* Winnow reports an anchor at most so many blocks after its first block. */
#define KNOWN_BLOCKS 128

/* Extents between two looks at the stop flag. */
#define LOOK_EXTENTS 1024

struct StandIns {
	SumCache *cache;
	uint32_t block_bytes;
	bool by_owner;
	uint32_t first_object; /* of those that have an owner */
	GArray *owners;        /* uint32_t, by the number of the object; with by_owner */
	GHashTable *given_up;  /* set of objects */

	/* The state of the current object. */
	uint32_t object;
	uint32_t owner;
	uint32_t stand;                /* the result of stand_ins_stand() */
	uint64_t sole_until;           /* behind the last block without a stand-in */
	uint32_t stands[KNOWN_BLOCKS]; /* of the last blocks, by their number; 0: none */
};

StandIns *stand_ins_new(SumCache *cache, uint32_t block_bytes, bool by_owner)
{
	StandIns *stands = g_new0(StandIns, 1);

	stands->cache = cache;
	stands->block_bytes = block_bytes;
	stands->by_owner = by_owner;
	stands->owners = g_array_new(false, true, sizeof(uint32_t));
	stands->given_up = g_hash_table_new(NULL, NULL);
	return stands;
}

void stand_ins_free(StandIns *stands)
{
	if (!stands)
		return;

	g_array_unref(stands->owners);
	g_hash_table_unref(stands->given_up);
	g_free(stands);
}

static void note_owner(StandIns *stands)
{
	uint32_t n;

	if (!stands->by_owner)
		return;
	if (stands->owners->len == 0)
		stands->first_object = stands->object;
	if (stands->object < stands->first_object)
		return;

	n = stands->object - stands->first_object;
	if (n >= stands->owners->len)
		g_array_set_size(stands->owners, n + 1);
	g_array_index(stands->owners, uint32_t, n) = stands->owner;
}

void stand_ins_begin(StandIns *stands, uint32_t object, uint32_t owner)
{
	stands->object = object;
	stands->owner = owner;
	stands->stand = 0;
	stands->sole_until = 0;
	for (size_t i = 0; i < KNOWN_BLOCKS; i++)
		stands->stands[i] = 0;
	note_owner(stands);
}

/* Whether @object may stand in for blocks of the current one. */
static bool may_stand(const StandIns *stands, uint32_t object)
{
	uint32_t n = object - stands->first_object;

	if (object == 0 || g_hash_table_contains(stands->given_up, GUINT_TO_POINTER(object)))
		return false;
	if (!stands->by_owner || object == stands->object)
		return true;

	return object >= stands->first_object && n < stands->owners->len &&
	       g_array_index(stands->owners, uint32_t, n) == stands->owner;
}

void stand_ins_look_up(StandIns *stands, uint64_t physical, size_t n_blocks, uint32_t *ret_stands)
{
	sum_cache_get_objects(stands->cache, physical, ret_stands, n_blocks);
	for (size_t i = 0; i < n_blocks; i++)
		if (!may_stand(stands, ret_stands[i]))
			ret_stands[i] = 0;
}

void stand_ins_add(StandIns *stands, uint64_t physical, size_t n_blocks, const uint32_t *known)
{
	for (size_t i = 0, end; i < n_blocks; i = end) {
		for (end = i + 1; end < n_blocks && !known[end] == !known[i];)
			end++;
		if (!known[i])
			sum_cache_put_object(stands->cache, physical + i * stands->block_bytes,
					     stands->object, end - i);
	}
}

void stand_ins_next(StandIns *stands, uint64_t block, uint32_t stand)
{
	stands->stands[block % KNOWN_BLOCKS] = stand;
	if (stand == 0)
		stands->sole_until = block + 1;
}

/* An anchor of the current object is left out because of @stand. */
static void rely_on(StandIns *stands, uint32_t stand)
{
	if (stand == stands->object)
		return;

	stands->stand = stands->stand == 0 || stands->stand == stand ? stand : UINT32_MAX;
}

bool stand_ins_cover(StandIns *stands, uint64_t block, uint32_t n_blocks)
{
	for (uint32_t i = 0; i < n_blocks; i++)
		if (stands->stands[(block + i) % KNOWN_BLOCKS] == 0)
			return false;

	for (uint32_t i = 0; i < n_blocks; i++)
		rely_on(stands, stands->stands[(block + i) % KNOWN_BLOCKS]);
	return true;
}

bool stand_ins_cover_run(StandIns *stands, uint64_t block)
{
	if (stands->sole_until > block)
		return false;

	/* The stand-ins of a whole run are not recorded one by one. */
	rely_on(stands, UINT32_MAX);
	return true;
}

uint32_t stand_ins_stand(const StandIns *stands)
{
	return stands->stand;
}

void stand_ins_give_up(StandIns *stands)
{
	g_hash_table_add(stands->given_up, GUINT_TO_POINTER(stands->object));
}

/* Whether the object was read by an earlier pass, and stands in for others. */
static bool is_earlier(const Object *object, uint32_t before)
{
	return object->id < before && object->state == OBJECT_DONE && object->stand == 0 &&
	       object->flags & OBJECT_CLONED && !(object->flags & OBJECT_WHOLE);
}

/* Blocks that cannot be mapped have no stand-in. */
static void add_extents(Pass *pass, SumCache *cache, ExtentMap *extents, const Object *object,
			int fd)
{
	uint32_t block_bytes = pass->block_bytes;
	g_autoptr(GError) unmapped = NULL;
	const MappedExtent *extent;
	unsigned n = 0;

	extent_map_start(extents, fd, 0, object->size_bytes, false);
	while (extent_map_next(extents, &extent, &unmapped) && extent) {
		if (++n % LOOK_EXTENTS == 0 && !pass_checkpoint(pass))
			return;
		if (extent->flags & EXTENT_SHARED && mapped_extent_is_addressed(extent))
			sum_cache_put_object(cache, extent->physical, object->id,
					     (extent->length + block_bytes - 1) / block_bytes);
	}
}

bool stand_ins_load_earlier(Pass *pass, FileOpener *opener, SumCache *cache, uint32_t before,
			    GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open(pass->store, error);
	g_autoptr(ExtentMap) extents = extent_map_new();

	while (cursor && pass_checkpoint(pass)) {
		const Object *object;
		g_auto(Fd) fd = -1;

		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object)
			break;
		if (!is_earlier(object, before))
			continue;

		fd = file_opener_open_unchanged(opener, object);
		if (fd >= 0)
			add_extents(pass, cache, extents, object, fd);
	}

	return cursor;
}
