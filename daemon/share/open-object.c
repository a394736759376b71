/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/open-object.h"

#include "daemon/context/known-file.h"
#include "daemon/context/lost-stand-ins.h"
#include "daemon/context/object-skips.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/extent-map.h"
#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/file/file-stat.h"

/*
 * The most extents that a file of XFS may have and still be a target: deduplication can cut it into more.  XFS
 * allows 2^31, or 2^48 with nrext64, but the kernel keeps all of them in memory while the file is in use.
 */
#define XFS_EXTENTS_MAX (UINT32_C(1) << 20)

/* Sources that stay open, beside those in use. */
#define IDLE_SOURCES 32

void open_object_free(OpenObject *object)
{
	if (!object)
		return;

	file_reader_free(object->reader);
	g_free(object);
}

static bool is_as_stored(const Object *stored, const FileStat *stat)
{
	Stamp then = known_file_stamp(stored);
	Stamp now = known_file_present_stamp(stat);

	return stat->inode == stored->inode && stamp_compare(&then, &now) != STAMP_CHANGED;
}

/* Open the file of @stored, which has the @name, for *ret; the outcome says why not. */
static OpenOutcome open_stored(FileOpener *opener, const Object *stored, const char *name,
			       Fd *ret_fd, OpenObject *ret)
{
	NamedFile file = { { stored->subvolume, stored->inode, stored->generation },
			   stored->parent,
			   name };
	OpenOutcome outcome;
	FileStat stat;
	int failed;

	outcome = file_opener_open(opener, &file, ret_fd, &failed);
	if (outcome != OPEN_OPENED)
		return outcome;
	if (file_stat_at(*ret_fd, "", &stat) != 0 || !is_as_stored(stored, &stat))
		return OPEN_GONE;

	ret->stamp = known_file_present_stamp(&stat);
	ret->owner = stat.uid;
	return OPEN_OPENED;
}

static GiveUp how_of(OpenOutcome outcome)
{
	return outcome == OPEN_LEASED || outcome == OPEN_FAILED ? GIVE_UP_FOR_NOW
								: GIVE_UP_AND_FORGET;
}

bool open_object(Pass *pass, FileOpener *opener, uint32_t id, OpenObject **ret, GError **error)
{
	g_autoptr(OpenObject) object = g_new0(OpenObject, 1);
	g_autofree char *name = NULL;
	const Object *found;
	OpenOutcome outcome;
	g_auto(Fd) fd = -1;
	Object stored;

	object->id = id;
	if (!hash_store_find(pass->store, id, &found, error))
		return false;
	if (!found) {
		*ret = g_steal_pointer(&object);
		return true;
	}

	/* The row is valid until the store is asked again. */
	stored = *found;
	name = g_strndup((const char *)found->name, found->name_bytes);
	object->subvolume = stored.subvolume;
	object->inode = stored.inode;
	object->parent = stored.parent;
	object->keeps_zeros = stored.flags & OBJECT_KEEP_ZEROS;
	object->size_bytes = stored.size_bytes;
	object->blocks = (stored.size_bytes + pass->block_bytes - 1) / pass->block_bytes;

	outcome = open_stored(opener, &stored, name, &fd, object);
	if (outcome == OPEN_OPENED) {
		object->reader = file_reader_new_take(fd_steal(&fd), object->size_bytes,
						      pass->throttle, pass->stop);
		file_reader_keep(object->reader, pass->kept, id);
	} else if (!open_object_give_up(pass, opener, object, file_opener_skip_reason(outcome),
					UINT64_MAX, how_of(outcome), error)) {
		return false;
	}

	*ret = g_steal_pointer(&object);
	return true;
}

/* Drop the object from the store, and note that others may have relied on it. */
static bool forget(Pass *pass, const OpenObject *object, GError **error)
{
	const Object *stored;

	if (!hash_store_find(pass->store, object->id, &stored, error) ||
	    (stored && !lost_stand_ins_note_drop(pass->store, stored, error)))
		return false;

	return hash_store_drop(pass->store, object->subvolume, object->inode, error);
}

bool open_object_give_up(Pass *pass, FileOpener *opener, OpenObject *object, SkipReason reason,
			 uint64_t bytes, GiveUp how, GError **error)
{
	g_clear_pointer(&object->reader, file_reader_free);
	if (!object_skips_add(pass, opener, object->id, reason, bytes, error))
		return false;

	if (how == GIVE_UP_FOR_NOW)
		postponed_add(pass->postponed, pass->store, object->id);
	return how != GIVE_UP_AND_FORGET || forget(pass, object, error);
}

StampVerdict open_object_compare(const OpenObject *object)
{
	FileStat stat;
	Stamp now;

	if (file_stat_at(file_reader_fd(object->reader), "", &stat) != 0)
		return STAMP_CHANGED;

	now = known_file_present_stamp(&stat);
	return stamp_compare(&object->stamp, &now);
}

uint64_t open_object_skip_hole(const OpenObject *object, uint64_t block, uint32_t block_bytes)
{
	return extent_map_skip_hole(file_reader_fd(object->reader), block * block_bytes) /
	       block_bytes;
}

uint64_t open_object_end_bytes(const OpenObject *object, uint64_t end_block, uint32_t block_bytes)
{
	return MIN(end_block * block_bytes, object->size_bytes);
}

bool open_object_has_most_extents(const OpenObject *object)
{
	g_autoptr(GError) unread = NULL;
	FileAttributes attributes;

	return file_attributes_read(file_reader_fd(object->reader), FS_KIND_XFS, &attributes,
				    &unread) &&
	       attributes.n_extents >= XFS_EXTENTS_MAX;
}

struct OpenSources {
	Pass *pass;
	FileOpener *opener;
	GQueue idle;   /* OpenObject, last used first */
	GQueue in_use; /* OpenObject */
};

OpenSources *open_sources_new(Pass *pass, FileOpener *opener)
{
	OpenSources *sources = g_new0(OpenSources, 1);

	sources->pass = pass;
	sources->opener = opener;
	g_queue_init(&sources->idle);
	g_queue_init(&sources->in_use);
	return sources;
}

void open_sources_free(OpenSources *sources)
{
	if (!sources)
		return;

	g_queue_clear_full(&sources->idle, (GDestroyNotify)open_object_free);
	g_queue_clear_full(&sources->in_use, (GDestroyNotify)open_object_free);
	g_free(sources);
}

static GList *find(const GQueue *queue, uint32_t id)
{
	for (GList *link = queue->head; link; link = link->next)
		if (((const OpenObject *)link->data)->id == id)
			return link;

	return NULL;
}

bool open_sources_is_in_use(const OpenSources *sources, uint32_t id)
{
	return find(&sources->in_use, id);
}

bool open_sources_take(OpenSources *sources, uint32_t id, OpenObject **ret, GError **error)
{
	GList *link = find(&sources->idle, id);

	if (link) {
		*ret = link->data;
		g_queue_delete_link(&sources->idle, link);
	} else if (!open_object(sources->pass, sources->opener, id, ret, error)) {
		return false;
	}

	g_queue_push_head(&sources->in_use, *ret);
	return true;
}

void open_sources_give_back(OpenSources *sources, const OpenObject *source)
{
	if (!source)
		return;

	g_queue_remove(&sources->in_use, source);
	if (g_queue_get_length(&sources->idle) >= IDLE_SOURCES)
		open_object_free(g_queue_pop_tail(&sources->idle));
	g_queue_push_head(&sources->idle, (OpenObject *)source);
}
