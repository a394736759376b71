/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/fingerprint/file-job.h"

#include "common/content/zeros.h"
#include "daemon/context/known-file.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-stat.h"

#include <stddef.h>
#include <string.h>

void file_job_free(FileJob *job)
{
	if (!job)
		return;

	file_reader_free(job->reader);
	g_free(job->name);
	g_free(job);
}

static int64_t now_nsec(void)
{
	return g_get_real_time() * 1000;
}

FileJob *file_job_open(Pass *pass, FileOpener *opener, const ReadItem *item)
{
	FileJob *job = g_new0(FileJob, 1);
	g_autoptr(GError) ignored = NULL;
	g_auto(Fd) fd = -1;
	FileStat stat;
	int failed;

	job->name = g_strdup(item->name);
	job->file = (NamedFile){ item->id, item->parent, job->name };
	job->half_object = item->half_object;
	job->is_foreign = item->is_foreign;
	job->has_checksums = item->has_checksums;
	job->is_plain = item->is_plain;
	job->is_by_extents = item->is_by_extents;
	job->is_whole = item->is_whole;
	job->changes = item->changes;
	job->head = item->head;
	job->stamp = item->stamp;
	job->outcome = file_opener_open(opener, &job->file, &fd, &failed);
	if (job->outcome != OPEN_OPENED)
		return job;

	if (file_stat_at(fd, "", &stat) != 0 || stat.inode != item->id.inode ||
	    !file_attributes_read(fd, pass->filesystem->identity.kind, &job->attributes,
				  &ignored)) {
		job->outcome = OPEN_GONE;
		return job;
	}

	job->seen_nsec = now_nsec();
	job->stamp = known_file_present_stamp(&stat);
	if (stamp_compare(&item->stamp, &job->stamp) != STAMP_SAME) {
		job->half_object = 0;
		job->head = 0;
	}
	job->file.id.generation = job->attributes.generation;
	job->data_bytes = MIN(stat.allocated_bytes, stat.size_bytes);
	job->owner = stat.uid;
	job->is_immutable = stat.is_immutable || job->attributes.is_immutable;
	job->reader =
		file_reader_new_take(fd_steal(&fd), stat.size_bytes, pass->throttle, pass->stop);
	return job;
}

static uint64_t zero_run_blocks(const Pass *pass)
{
	return MAX(ZEROS_RUN_BYTES / pass->block_bytes, 1);
}

/* A byte that is neither 0 nor 1 is no bool. */
static bool has_bools(const Learned *learned)
{
	const uint8_t *bytes = (const uint8_t *)learned;

	return bytes[offsetof(Learned, has_hole)] <= 1 &&
	       bytes[offsetof(Learned, has_unwritten)] <= 1;
}

/* Whether a pass with this store can have learned this from the first @done_blocks of the file. */
static bool may_go_on(const FileJob *job, const Pass *pass, uint64_t done_blocks)
{
	const HashStoreAbout *about = hash_store_about(pass->store);
	const Learned *learned = &job->learned;

	return has_bools(learned) && done_blocks <= job->stamp.size_bytes / pass->block_bytes + 1 &&
	       object_sums_may_go_on(&learned->sums, about->anchor_blocks, about->window_anchors,
				     zero_run_blocks(pass), done_blocks);
}

/* Take up what an earlier pass learned of the first *ret_done_blocks; false: nothing. */
static bool recall_half(FileJob *job, Pass *pass, bool *ret_found, GError **error)
{
	g_autoptr(GBytes) state = NULL;
	uint64_t done_blocks;

	*ret_found = false;
	if (!job->half_object)
		return true;
	if (!hash_store_get_half(pass->store, job->half_object, &done_blocks, &state, error))
		return false;
	if (!state || g_bytes_get_size(state) != sizeof(job->learned))
		return true;

	memcpy(&job->learned, g_bytes_get_data(state, NULL), sizeof(job->learned));
	if (!may_go_on(job, pass, done_blocks)) {
		memset(&job->learned, 0, sizeof(job->learned));
		return true;
	}
	job->object = job->half_object;
	job->is_whole = !job->is_by_extents && !object_sums_have_anchors(&job->learned.sums);
	job->next_half_bytes += done_blocks * pass->block_bytes;
	atomic_fetch_add(&pass->progress->done_bytes, done_blocks * pass->block_bytes);
	*ret_found = true;
	return true;
}

bool file_job_begin(FileJob *job, Pass *pass, GError **error)
{
	const HashStoreAbout *about = hash_store_about(pass->store);
	bool found;

	job->next_half_bytes = FILE_JOB_HALF_BYTES;
	if (!recall_half(job, pass, &found, error))
		return false;
	if (!found) {
		object_sums_init(&job->learned.sums, about->anchor_blocks,
				 job->is_whole || job->is_by_extents ? 0 : about->window_anchors,
				 zero_run_blocks(pass));
		if (!hash_store_new_object(pass->store, &job->object, error))
			return false;
	}

	file_reader_keep(job->reader, pass->kept, job->object);
	file_reader_prefer_direct(job->reader);
	return true;
}

Object file_job_row(const FileJob *job)
{
	return (Object){
		.id = job->object,
		.subvolume = job->file.id.subvolume,
		.inode = job->file.id.inode,
		.generation = job->file.id.generation,
		.size_bytes = job->stamp.size_bytes,
		.btime_nsec = job->stamp.btime_nsec,
		.mtime_nsec = job->stamp.mtime_nsec,
		.ctime_nsec = job->stamp.ctime_nsec,
		.flags = (stamp_is_racy(&job->stamp, job->seen_nsec) ? OBJECT_RACY : 0) |
			 (job->is_by_extents ? OBJECT_READ_SUMS : 0),
		.changes = job->changes,
		.changed_sec = (uint64_t)(job->seen_nsec / 1000 / G_USEC_PER_SEC),
		.parent = job->file.parent,
		.name = (const uint8_t *)job->name,
		.name_bytes = strlen(job->name),
	};
}

bool file_job_stamp_now(const FileJob *job, Stamp *ret)
{
	FileStat stat;

	if (file_stat_at(file_reader_fd(job->reader), "", &stat) != 0)
		return false;

	*ret = known_file_present_stamp(&stat);
	return true;
}
