/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/inventory/same-size-filter.h"

#include "daemon/context/compare-uint64.h"
#include "daemon/context/object-skips.h"
#include "daemon/inventory/file-prefixes.h"
#include "hashstore/anchors/sorter.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"

#include <string.h>

/* One batch of heads is read while the batch before is put into the store. */
#define BATCH_FILES 512

typedef struct {
	size_t n_files;
	SizedFile files[BATCH_FILES];
	FileHead heads[BATCH_FILES];
} Batch;

typedef struct {
	Pass *pass;
	NameBuffer *names;
	FileOpener *opener;
	ReadList *to_read;
	Sorter *in_order;    /* SizedFile: those whose heads are to be read */
	SizeGroups *by_head; /* those that are larger than their heads */
	FilePrefixes *heads;
	int64_t began_nsec; /* before anything was listed */
	char *name;         /* found last in the store */
} SameSizeFilter;

static int compare_inodes(const void *a, const void *b)
{
	const SizedFile *one = a;
	const SizedFile *other = b;
	int order = compare_uint64(one->id.subvolume, other->id.subvolume);

	return order ? order : compare_uint64(one->id.inode, other->id.inode);
}

/* Whether the file may have changed since it was listed without its ctime showing it. */
static bool is_racy(const SameSizeFilter *filter, const Stamp *stamp)
{
	int64_t now_nsec = g_get_real_time() * 1000;

	return stamp_is_racy(stamp, filter->began_nsec) || stamp_is_racy(stamp, now_nsec) ||
	       (stamp->ctime_nsec > filter->began_nsec && stamp->ctime_nsec < now_nsec);
}

/* The name and directory of @file, valid until the next call. */
static bool name_of(SameSizeFilter *filter, const SizedFile *file, NamedFile *ret, GError **error)
{
	const Object *known;

	*ret = (NamedFile){ file->id, file->parent, "" };
	if (file->name_position != SIZED_NAME_STORED)
		return name_buffer_get(filter->names, file->name_position, &ret->name, error);
	if (!hash_store_find_at(filter->pass->store, file->id.subvolume, file->id.inode, &known,
				error))
		return false;
	if (!known)
		return true;

	g_free(filter->name);
	filter->name = g_strndup((const char *)known->name, known->name_bytes);
	ret->name = filter->name;
	ret->parent = known->parent;
	return true;
}

/* The row of @file, with a name that is valid until the next call. */
static bool row_of(SameSizeFilter *filter, const SizedFile *file, ObjectState state, Object *ret,
		   GError **error)
{
	NamedFile named;

	if (!name_of(filter, file, &named, error))
		return false;

	*ret = (Object){
		.id = file->object,
		.subvolume = file->id.subvolume,
		.inode = file->id.inode,
		.generation = file->id.generation,
		.size_bytes = file->stamp.size_bytes,
		.btime_nsec = file->stamp.btime_nsec,
		.mtime_nsec = file->stamp.mtime_nsec,
		.ctime_nsec = file->stamp.ctime_nsec,
		.state = state,
		.flags = file->rights,
		.changes = file->changes,
		.changed_sec = (uint64_t)(filter->began_nsec / 1000 / G_USEC_PER_SEC),
		.parent = named.parent,
		.name = (const uint8_t *)named.name,
		.name_bytes = strlen(named.name),
	};
	ret->flags |= is_racy(filter, &file->stamp) ? OBJECT_RACY : 0;
	return true;
}

/* Record a file that is not read now, unless its row says the same. */
static bool put_seen(SameSizeFilter *filter, const SizedFile *file, GError **error)
{
	Pass *pass = filter->pass;
	SizedFile seen = *file;
	Object row;

	if (file->state != SIZED_NEW)
		return true;
	if (!seen.object && !hash_store_new_object(pass->store, &seen.object, error))
		return false;
	if (!row_of(filter, &seen, OBJECT_SEEN, &row, error))
		return false;

	row.head = seen.head;
	row.flags |= seen.head ? OBJECT_HAS_HEAD : 0;
	pass->result->files.set_aside++;
	return hash_store_put(pass->store, &row, error);
}

/* Skip the file, for as long as its stamp holds if it is @for_good. */
static bool skip(SameSizeFilter *filter, const SizedFile *file, SkipReason reason, bool for_good,
		 GError **error)
{
	Pass *pass = filter->pass;
	g_autofree char *path = NULL;
	Object row;

	if (!row_of(filter, file, OBJECT_SKIPPED, &row, error))
		return false;
	if (skip_ledger_wants_example(&pass->result->skips, reason)) {
		NamedFile named = { file->id, row.parent, (const char *)row.name };

		path = object_skips_path(pass, filter->opener, &named);
	}

	skip_ledger_add(&pass->result->skips, reason, file->stamp.size_bytes, path);
	if (!for_good)
		return true;

	row.skip_reason = reason;
	pass->result->files.set_aside++;
	return hash_store_put(pass->store, &row, error);
}

/* The head is all of the file, so it is its fingerprint. */
static bool put_done(SameSizeFilter *filter, const SizedFile *file, const FileHead *head,
		     GError **error)
{
	Pass *pass = filter->pass;
	Anchor whole = { head->digest, file->object, ANCHOR_WHOLE_BLOCK };
	Object row;

	if (!row_of(filter, file, OBJECT_DONE, &row, error))
		return false;

	row.digest = head->digest;
	row.flags |= OBJECT_WHOLE;
	row.flags |= head->attributes.is_immutable ? OBJECT_IMMUTABLE : 0;
	row.flags |= head->attributes.is_no_cow ? OBJECT_NO_COW : 0;
	row.flags |= head->is_shared ? OBJECT_SHARED : 0;
	pass->result->files.read++;
	return hash_store_put_anchor(pass->store, &whole, error) &&
	       hash_store_put(pass->store, &row, error);
}

static bool take_read(SameSizeFilter *filter, SizedFile *file, const FileHead *head, GError **error)
{
	Pass *pass = filter->pass;

	if (file_head_is_whole(head->stamp.size_bytes, pass->block_bytes))
		return put_done(filter, file, head, error);

	/* The row has to get the head, whatever the store has. */
	file->head = head->digest;
	file->physical = head->physical;
	file->state = SIZED_NEW;
	return size_groups_add(filter->by_head, file, error);
}

static bool take_head(SameSizeFilter *filter, SizedFile *file, const FileHead *head, GError **error)
{
	Pass *pass = filter->pass;

	if (head->attributes.generation)
		file->id.generation = head->attributes.generation;
	file->stamp = head->stamp;
	pass->result->finding_bytes += head->read_bytes;
	atomic_fetch_add(&pass->progress->done_bytes,
			 file_head_bytes(file->stamp.size_bytes, pass->block_bytes));

	switch (head->outcome) {
	case HEAD_READ:
		return take_read(filter, file, head, error);
	case HEAD_STOPPED:
		return true;
	case HEAD_FORBIDDEN:
		return skip(filter, file, head->reason, true, error);
	case HEAD_CHANGED:
		return skip(filter, file, SKIP_CHANGED, false, error);
	case HEAD_NOT_OPENED:
		break;
	}

	return skip(filter, file, file_opener_skip_reason(head->opened),
		    head->opened == OPEN_UNREADABLE, error);
}

static bool take_batch(SameSizeFilter *filter, Batch *batch, GError **error)
{
	for (size_t i = 0; i < batch->n_files; i++)
		if (!take_head(filter, &batch->files[i], &batch->heads[i], error))
			return false;

	return pass_commit_when_due(filter->pass, error);
}

/* Fill the request to the readers.  A file without a handle is opened here, by its name. */
static bool ask(SameSizeFilter *filter, const SizedFile *file, FileHead *ret, GError **error)
{
	NamedFile named;
	int failed;

	*ret = (FileHead){
		.id = file->id,
		.fd = -1,
		.object = file->object,
		.stamp = file->stamp,
		.is_plain = file->is_plain,
		.outcome = HEAD_STOPPED,
	};
	if (file->id.generation && filter->pass->filesystem->opens_by_id)
		return true;
	if (!name_of(filter, file, &named, error))
		return false;

	ret->opened = file_opener_open(filter->opener, &named, &ret->fd, &failed);
	return true;
}

static bool fill_batch(SameSizeFilter *filter, Batch *batch, GError **error)
{
	batch->n_files = 0;
	while (batch->n_files < BATCH_FILES) {
		SizedFile *file = &batch->files[batch->n_files];
		const SizedFile *next;

		if (!sorter_next(filter->in_order, (const void **)&next, error))
			return false;
		if (!next)
			break;

		*file = *next;
		/* A file that is read is matched anew, so it needs an id that is not settled. */
		if (!hash_store_new_object(filter->pass->store, &file->object, error) ||
		    !ask(filter, file, &batch->heads[batch->n_files], error))
			return false;
		batch->n_files++;
	}

	return true;
}

/* Close files that the readers did not come to. */
static void close_batch(Batch *batch)
{
	for (size_t i = 0; i < batch->n_files; i++)
		fd_close(&batch->heads[i].fd);
}

/* Two batches take turns: one is read while the results of the other are stored. */
static bool read_heads(SameSizeFilter *filter, GError **error)
{
	g_autofree Batch *batches = g_new0(Batch, 2);
	bool done = true;

	filter->heads = file_prefixes_new(filter->pass, error);
	if (!filter->heads)
		return false;

	for (size_t turn = 0; done && pass_checkpoint(filter->pass); turn++) {
		Batch *next = &batches[turn % 2];
		Batch *read = &batches[(turn + 1) % 2];

		done = fill_batch(filter, next, error);
		file_prefixes_wait(filter->heads);
		if (!done)
			close_batch(next);
		if (!done || next->n_files + read->n_files == 0)
			break;

		file_prefixes_start(filter->heads, next->heads, next->n_files);
		done = take_batch(filter, read, error);
		read->n_files = 0;
	}

	g_clear_pointer(&filter->heads, file_prefixes_free);
	return done;
}

/* Whether the file is compared by its head, without reading it now. */
static bool has_known_head(const SameSizeFilter *filter, const SizedFile *file)
{
	return !file_head_is_whole(file->stamp.size_bytes, filter->pass->block_bytes) &&
	       (file->state == SIZED_KNOWN || (file->state == SIZED_SEEN && file->head));
}

/* Separate files with a unique size from those whose heads are compared; *ret_bytes: of these heads. */
static bool part_by_size(SameSizeFilter *filter, SizeGroups *sizes, uint64_t *ret_bytes,
			 GError **error)
{
	uint32_t block_bytes = filter->pass->block_bytes;

	*ret_bytes = 0;
	if (!size_groups_sort(sizes, error))
		return false;

	while (pass_checkpoint(filter->pass)) {
		const SizedFile *file;
		bool parted = true;

		if (!size_groups_next(sizes, &file, error))
			return false;
		if (!file)
			break;

		if (file->is_alone || file->stamp.size_bytes == 0)
			parted = put_seen(filter, file, error);
		else if (has_known_head(filter, file))
			parted = size_groups_add(filter->by_head, file, error);
		else if (file->state != SIZED_KNOWN) {
			*ret_bytes += file_head_bytes(file->stamp.size_bytes, block_bytes);
			parted = sorter_add(filter->in_order, file, error);
		}
		if (!parted)
			return false;
	}

	return sorter_sort(filter->in_order, error);
}

static bool add_to_read(SameSizeFilter *filter, const SizedFile *file, GError **error)
{
	ReadItem item = {
		.id = file->id,
		.stamp = file->stamp,
		.head = file->head,
		.physical = file->physical,
		.changes = file->changes,
		.is_foreign = file->rights & OBJECT_FOREIGN,
		.is_whole = true,
	};
	NamedFile named;

	/* The file is read under another id, which its pages are noted with then. */
	page_cache_budget_take(filter->pass->kept, file->object, 0);
	if (!name_of(filter, file, &named, error))
		return false;
	item.parent = named.parent;
	item.name = named.name;
	return read_list_add(filter->to_read, &item, error);
}

static bool part_by_head(SameSizeFilter *filter, GError **error)
{
	if (!size_groups_sort(filter->by_head, error))
		return false;

	while (pass_checkpoint(filter->pass)) {
		const SizedFile *file;

		if (!size_groups_next(filter->by_head, &file, error))
			return false;
		if (!file)
			break;
		if (file->state == SIZED_KNOWN)
			continue;
		if (!(file->is_alone ? put_seen(filter, file, error)
				     : add_to_read(filter, file, error)))
			return false;
	}

	return true;
}

static bool choose(SameSizeFilter *filter, SizeGroups *sizes, GError **error)
{
	Pass *pass = filter->pass;
	uint64_t head_bytes;

	if (!part_by_size(filter, sizes, &head_bytes, error))
		return false;

	if (sorter_count(filter->in_order) > 0) {
		progress_begin(pass->progress, STAGE_READ, head_bytes);
		if (!read_heads(filter, error))
			return false;
	}

	return !pass_checkpoint(pass) || part_by_head(filter, error);
}

bool same_size_filter_choose(Pass *pass, SizeGroups *sizes, NameBuffer *names, FileOpener *opener,
			     ReadList *to_read, GError **error)
{
	const char *directory = pass->settings->state_directory;
	size_t memory_bytes = pass->settings->memory_bytes / 8;
	g_autoptr(Sorter) in_order =
		sorter_new(sizeof(SizedFile), compare_inodes, memory_bytes, directory, pass->stop);
	g_autoptr(SizeGroups) by_head = size_groups_new(true, memory_bytes, directory, pass->stop);
	SameSizeFilter filter = {
		.pass = pass,
		.names = names,
		.opener = opener,
		.to_read = to_read,
		.in_order = in_order,
		.by_head = by_head,
		.began_nsec = pass->result->started_usec * 1000,
	};

	bool chosen = choose(&filter, sizes, error);

	g_free(filter.name);
	return chosen;
}
