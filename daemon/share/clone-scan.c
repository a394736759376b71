/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/clone-scan.h"

#include "daemon/share/clone-pairs.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"

/* Extents between two looks at the stop flag. */
#define LOOK_EXTENTS 1024

typedef struct {
	Pass *pass;
	CloneRefs *refs;
	FileOpener *opener;
	ExtentMap *extents;
} Scan;

/* Add the references of the open file, as far as it can be mapped.  False: there is no room. */
static bool add_file(Scan *scan, uint32_t object, int fd, uint64_t size_bytes)
{
	g_autoptr(GError) unmapped = NULL;
	uint32_t block_bytes = scan->pass->block_bytes;
	const MappedExtent *extent;
	unsigned n = 0;

	extent_map_start(scan->extents, fd, 0, size_bytes, false);
	while (extent_map_next(scan->extents, &extent, &unmapped) && extent) {
		if (++n % LOOK_EXTENTS == 0 && !pass_checkpoint(scan->pass))
			return false;
		if (!mapped_extent_is_addressed(extent))
			continue;
		if (!clone_refs_add(scan->refs, object, extent->logical / block_bytes,
				    extent->physical / block_bytes,
				    (extent->length + block_bytes - 1) / block_bytes))
			return false;
	}

	return true;
}

static bool may_have_clones(const Scan *scan, const Object *object)
{
	return object->state == OBJECT_DONE &&
	       (object->flags & (OBJECT_CLONED | OBJECT_SHARED) ||
		clone_pairs_is_touched(scan->pass->xfs.clones, object->id));
}

static bool scan_object(Scan *scan, const Object *object)
{
	g_auto(Fd) fd = -1;
	int failed;

	return file_opener_open_object(scan->opener, object, &fd, &failed) != OPEN_OPENED ||
	       add_file(scan, object->id, fd, object->size_bytes);
}

bool clone_scan(Pass *pass, CloneRefs *refs, FileOpener *opener, bool *ret_is_complete,
		GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open(pass->store, error);
	g_autoptr(ExtentMap) extents = extent_map_new();
	Scan scan = { pass, refs, opener, extents };
	const Object *object;

	*ret_is_complete = false;
	if (!cursor)
		return false;

	while (pass_checkpoint(pass)) {
		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object) {
			*ret_is_complete = true;
			break;
		}
		if (may_have_clones(&scan, object) && !scan_object(&scan, object))
			break;
	}

	clone_refs_end(refs);
	return true;
}

bool clone_scan_note(Pass *pass, GError **error)
{
	uint32_t end = hash_store_next_object(pass->store);

	for (uint32_t id = 1; pass->xfs.clones && !pass->settings->dry_run && id < end; id++) {
		g_autofree char *name = NULL;
		const Object *stored;
		Object object;

		if (!clone_pairs_is_touched(pass->xfs.clones, id))
			continue;
		if (!hash_store_find(pass->store, id, &stored, error))
			return false;
		if (!stored || stored->flags & OBJECT_CLONED)
			continue;

		object = *stored;
		name = g_strndup((const char *)stored->name, stored->name_bytes);
		object.name = (const uint8_t *)name;
		object.flags |= OBJECT_CLONED;
		if (!hash_store_put(pass->store, &object, error))
			return false;
	}

	return true;
}
