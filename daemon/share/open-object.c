/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/open-object.h"

#include "daemon/context/known-file.h"
#include "daemon/context/object-skips.h"
#include "hashstore/objects/stand-note.h"
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
static OpenOutcome open_stored(const Pass *pass, FileOpener *opener, const Object *stored,
			       const char *name, OpenObject *ret)
{
	NamedFile file = { { stored->subvolume, stored->inode, stored->generation },
			   stored->parent,
			   name };
	g_auto(Fd) fd = -1;
	OpenOutcome outcome;
	FileStat stat;
	int failed;

	outcome = file_opener_open(opener, &file, &fd, &failed);
	if (outcome != OPEN_OPENED)
		return outcome;
	if (file_stat_at(fd, "", &stat) != 0 || !is_as_stored(stored, &stat))
		return OPEN_GONE;

	ret->stamp = known_file_present_stamp(&stat);
	ret->owner = stat.uid;
	ret->reader =
		file_reader_new_take(fd_steal(&fd), ret->size_bytes, pass->throttle, pass->stop);
	file_reader_keep(ret->reader, pass->kept, ret->id);
	return OPEN_OPENED;
}

static GiveUp how_of(OpenOutcome outcome)
{
	return outcome == OPEN_LEASED || outcome == OPEN_FAILED ? GIVE_UP_FOR_NOW
								: GIVE_UP_AND_FORGET;
}

/* Fill in @object, which has its id. */
static bool open_in_place(Pass *pass, FileOpener *opener, OpenObject *object, GError **error)
{
	g_autofree char *name = NULL;
	const Object *found;
	OpenOutcome outcome;
	Object stored;
	bool needs_names;

	if (!hash_store_find(pass->store, object->id, &found, error))
		return false;
	if (!found)
		return true;

	/* The row is valid until the store is asked again. */
	stored = *found;
	name = g_strndup((const char *)found->name, found->name_bytes);
	object->subvolume = stored.subvolume;
	object->inode = stored.inode;
	object->parent = stored.parent;
	object->keeps_zeros = stored.flags & OBJECT_KEEP_ZEROS;
	object->size_bytes = stored.size_bytes;
	object->blocks = (stored.size_bytes + pass->block_bytes - 1) / pass->block_bytes;

	needs_names = file_opener_needs_names(opener, stored.generation);
	if (!needs_names)
		pass_give_turn(pass);
	outcome = open_stored(pass, opener, &stored, name, object);
	if (!needs_names)
		pass_take_turn(pass);

	object->is_usable = outcome == OPEN_OPENED;
	return object->is_usable ||
	       open_object_give_up(pass, opener, object, file_opener_skip_reason(outcome),
				   UINT64_MAX, how_of(outcome), error);
}

bool open_object(Pass *pass, FileOpener *opener, uint32_t id, OpenObject **ret, GError **error)
{
	g_autoptr(OpenObject) object = g_new0(OpenObject, 1);

	object->id = id;
	if (!open_in_place(pass, opener, object, error))
		return false;

	*ret = g_steal_pointer(&object);
	return true;
}

/* Drop the object from the store, and note that others may have relied on it. */
static bool forget(Pass *pass, const OpenObject *object, GError **error)
{
	const Object *stored;

	if (!hash_store_find(pass->store, object->id, &stored, error) ||
	    (stored && !stand_note_drop(pass->store, stored, error)))
		return false;

	return hash_store_drop(pass->store, object->subvolume, object->inode, error);
}

bool open_object_give_up(Pass *pass, FileOpener *opener, OpenObject *object, SkipReason reason,
			 uint64_t bytes, GiveUp how, GError **error)
{
	object->is_usable = false;
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
	GQueue idle;          /* OpenObject, last used first */
	GQueue in_use;        /* OpenObject */
	pthread_cond_t moved; /* signalled when one was opened or closed */
};

OpenSources *open_sources_new(Pass *pass, FileOpener *opener)
{
	OpenSources *sources = g_new0(OpenSources, 1);

	sources->pass = pass;
	sources->opener = opener;
	g_queue_init(&sources->idle);
	g_queue_init(&sources->in_use);
	pthread_cond_init(&sources->moved, NULL);
	return sources;
}

void open_sources_free(OpenSources *sources)
{
	if (!sources)
		return;

	g_queue_clear_full(&sources->idle, (GDestroyNotify)open_object_free);
	g_queue_clear_full(&sources->in_use, (GDestroyNotify)open_object_free);
	pthread_cond_destroy(&sources->moved);
	g_free(sources);
}

static GList *find(const GQueue *queue, uint32_t id)
{
	for (GList *link = queue->head; link; link = link->next)
		if (((const OpenObject *)link->data)->id == id)
			return link;

	return NULL;
}

/* The source among those in use, once no other thread opens or closes it; NULL: it is not there. */
static OpenObject *find_in_use(OpenSources *sources, uint32_t id)
{
	GList *link;

	while ((link = find(&sources->in_use, id))) {
		OpenObject *source = link->data;

		if (source->n_users > 0)
			return source;
		pthread_cond_wait(&sources->moved, sources->pass->turn);
	}

	return NULL;
}

/* The source among those that are idle; NULL: it is not there. */
static OpenObject *take_idle(OpenSources *sources, uint32_t id)
{
	GList *link = find(&sources->idle, id);
	OpenObject *source = link ? link->data : NULL;

	if (link)
		g_queue_delete_link(&sources->idle, link);
	return source;
}

/* Open the source; others wait for it meanwhile. */
static bool open_source(OpenSources *sources, uint32_t id, OpenObject **ret, GError **error)
{
	g_autoptr(OpenObject) source = g_new0(OpenObject, 1);
	bool done;

	source->id = id;
	g_queue_push_head(&sources->in_use, source);
	done = open_in_place(sources->pass, sources->opener, source, error);
	g_queue_remove(&sources->in_use, source);
	pthread_cond_broadcast(&sources->moved);
	*ret = done ? g_steal_pointer(&source) : NULL;
	return done;
}

bool open_sources_take(OpenSources *sources, uint32_t id, OpenObject **ret, GError **error)
{
	OpenObject *source = find_in_use(sources, id);

	if (!source) {
		source = take_idle(sources, id);
		if (!source && !open_source(sources, id, &source, error))
			return false;
		g_queue_push_head(&sources->in_use, source);
	}

	source->n_users++;
	*ret = source;
	return true;
}

/* Close the source that was used least recently; others wait for it meanwhile. */
static void close_last(OpenSources *sources)
{
	OpenObject *last = g_queue_pop_tail(&sources->idle);

	g_queue_push_head(&sources->in_use, last);
	pass_give_turn(sources->pass);
	g_clear_pointer(&last->reader, file_reader_free);
	pass_take_turn(sources->pass);
	g_queue_remove(&sources->in_use, last);
	pthread_cond_broadcast(&sources->moved);
	open_object_free(last);
}

void open_sources_give_back(OpenSources *sources, OpenObject *source)
{
	if (!source || --source->n_users > 0)
		return;

	g_queue_remove(&sources->in_use, source);
	g_queue_push_head(&sources->idle, source);
	if (g_queue_get_length(&sources->idle) > IDLE_SOURCES)
		close_last(sources);
}
