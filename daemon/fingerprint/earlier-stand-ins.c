/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/earlier-stand-ins.h"

#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"

/* Extents between two looks at the stop flag. */
#define LOOK_EXTENTS 1024

static bool may_stand(const Object *object, uint32_t before)
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

bool earlier_stand_ins_load(Pass *pass, FileOpener *opener, SumCache *cache, uint32_t before,
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
		if (!may_stand(object, before))
			continue;

		fd = file_opener_open_unchanged(opener, object);
		if (fd >= 0)
			add_extents(pass, cache, extents, object, fd);
	}

	return cursor;
}
