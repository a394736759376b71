/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-copy.h"

#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/btrfs/btrfs-named-refs.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/dedupe-range.h"
#include "kernel-ioctl/file/extent-map.h"
#include "kernel-ioctl/file/file-attributes.h"
#include "kernel-ioctl/file/file-stat.h"
#include "kernel-ioctl/file/fs-identity.h"
#include "kernel-ioctl/file/unnamed-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES FILE_READER_PIECE_BYTES

/* A copy may have one extent per so many bytes, and one more; otherwise it is no gain. */
#define EXTENT_BYTES (UINT64_C(64) << 10)

/* A copy takes at most this part of the free space: others may need it before the extent is freed. */
#define ROOM_SHARE 16

/* An unnamed file that is being made. */
typedef struct {
	Pass *pass;
	int fd;        /* -1 until it is made */
	GArray *tried; /* uint64_t: subvolumes */
	bool is_full;  /* one had no room, or no quota left */
} CopyFile;

struct ExtentCopy {
	FileReader *reader;
	uint64_t disk_bytes;
};

static const CopyPart *part_at(const GArray *parts, guint i)
{
	return &g_array_index(parts, CopyPart, i);
}

/* The number of parts that are copied; those that repeat them come last. */
static guint count_copied(const GArray *parts)
{
	guint n = parts->len;

	while (n > 0 && part_at(parts, n - 1)->is_repeat)
		n--;
	return n;
}

static uint64_t end_of(const GArray *parts)
{
	const CopyPart *last = part_at(parts, count_copied(parts) - 1);

	return last->offset + last->length;
}

static bool write_all(int fd, const uint8_t *data, size_t length, uint64_t offset)
{
	while (length > 0) {
		ssize_t written = pwrite(fd, data, length, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		data += written;
		length -= (size_t)written;
		offset += (size_t)written;
	}

	return true;
}

static SkipReason reason_of(int error)
{
	return error == ENOSPC || error == EDQUOT ? SKIP_NO_SPACE : SKIP_NO_TEMPORARY_FILE;
}

static SkipReason read_reason(ReadOutcome outcome)
{
	return outcome == READ_UNREADABLE ? SKIP_UNREADABLE : SKIP_CHANGED;
}

static bool copy_part(Pass *pass, FileReader *from, int to, const CopyPart *part,
		      SkipReason *ret_reason)
{
	g_autofree uint8_t *buffer = g_malloc(MIN(part->length, PIECE_BYTES));

	for (uint64_t done = 0, length; done < part->length; done += length) {
		ReadOutcome outcome;

		length = MIN(part->length - done, PIECE_BYTES);
		outcome = file_reader_read(from, part->place_offset + done, length, buffer);
		*ret_reason = read_reason(outcome);
		if (outcome != READ_DONE || !throttle_take(pass->throttle, length, pass->stop))
			return false;
		if (!write_all(to, buffer, length, part->offset + done)) {
			*ret_reason = reason_of(errno);
			return false;
		}
	}

	return true;
}

static bool copy_parts(Pass *pass, ExtentFiles *files, const GArray *parts, int to,
		       CopyFailure *failure)
{
	guint n = count_copied(parts);

	for (guint i = 0; i < n; i++) {
		const CopyPart *part = part_at(parts, i);
		FileReader *from = extent_files_open(files, &part->place, &failure->reason);

		failure->blamed = &part->place;
		if (!from || !copy_part(pass, from, to, part, &failure->reason))
			return false;
	}

	failure->blamed = NULL;
	return true;
}

static bool compare_part(Pass *pass, FileReader *one, FileReader *copy, const CopyPart *part,
			 CopyFailure *failure)
{
	g_autofree uint8_t *mine = g_malloc(MIN(part->length, PIECE_BYTES));
	g_autofree uint8_t *other = g_malloc(MIN(part->length, PIECE_BYTES));

	for (uint64_t done = 0, length; done < part->length; done += length) {
		ReadOutcome outcome;

		length = MIN(part->length - done, PIECE_BYTES);
		outcome = file_reader_read(one, part->place_offset + done, length, mine);
		if (outcome == READ_DONE)
			outcome = file_reader_read(copy, part->offset + done, length, other);
		failure->reason = read_reason(outcome);
		if (outcome != READ_DONE || !pass_checkpoint(pass))
			return false;
		failure->wasted_bytes += 2 * length;
		failure->reason = SKIP_DIFFERS;
		if (memcmp(mine, other, length) != 0)
			return false;
	}

	return true;
}

/* Compare the parts that repeat others with the copy. */
static bool compare_repeats(Pass *pass, ExtentFiles *files, const GArray *parts, FileReader *copy,
			    CopyFailure *failure)
{
	for (guint i = count_copied(parts); i < parts->len; i++) {
		const CopyPart *part = part_at(parts, i);
		FileReader *from = extent_files_open(files, &part->place, &failure->reason);

		failure->blamed = &part->place;
		if (!from || !compare_part(pass, from, copy, part, failure))
			return false;
	}

	return true;
}

/* Write the copy out in pieces: a request to stop waits for one of them.  look_at() notices if one fails. */
static bool write_out(Pass *pass, int fd, uint64_t size_bytes)
{
	for (uint64_t done = 0; done < size_bytes; done += DEDUPE_ROUND_BYTES) {
		if (!pass_checkpoint(pass))
			return false;
		(void)sync_file_range(fd, (off_t)done, (off_t)DEDUPE_ROUND_BYTES,
				      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					      SYNC_FILE_RANGE_WAIT_AFTER);
	}

	return pass_checkpoint(pass);
}

/* Have the copy allocated; *ret: its space.  False if it has too many extents. */
static bool look_at(int fd, uint64_t size_bytes, uint64_t *ret, GError **error)
{
	g_autoptr(ExtentMap) map = extent_map_new();
	g_autoptr(BtrfsFileExtents) extents = btrfs_file_extents_new();
	const MappedExtent *mapped;
	const BtrfsFileExtent *item;
	FileStat stat;
	uint64_t n = 0;

	*ret = 0;
	/* This flushes, and waits until the trees have the extents. */
	extent_map_start(map, fd, 0, size_bytes, true);
	if (!extent_map_next(map, &mapped, error) || file_stat_at(fd, "", &stat) != 0)
		return false;

	/* Inode and subvolume are those of the file. */
	btrfs_file_extents_start(extents, fd, 0, stat.inode, 0, size_bytes);
	for (;; n++) {
		if (!btrfs_file_extents_next(extents, &item, error))
			return false;
		if (!item)
			break;
		*ret += item->disk_bytes;
	}

	return n > 0 && n <= 2 + size_bytes / EXTENT_BYTES;
}

/* Make the file in the subvolume, if it was not tried before; returns whether to go on. */
static bool try_subvolume(CopyFile *file, uint64_t subvolume)
{
	for (guint i = 0; i < file->tried->len; i++)
		if (g_array_index(file->tried, uint64_t, i) == subvolume)
			return true;

	g_array_append_val(file->tried, subvolume);
	file->fd = unnamed_file_make_in_subvolume(file->pass->filesystem->fd, subvolume);
	if (file->fd < 0 && (errno == EDQUOT || errno == ENOSPC))
		file->is_full = true;
	return file->fd < 0 && !file->is_full;
}

/* The file may be made in another subvolume if one is read-only or being deleted, but not to evade a quota. */
static int make_file(Pass *pass, const Object *extent, const GArray *parts, SkipReason *ret_reason)
{
	g_autoptr(GArray) tried = g_array_new(false, false, sizeof(uint64_t));
	g_autoptr(GError) failed = NULL;
	CopyFile file = { .pass = pass, .fd = -1, .tried = tried };
	uint64_t owner = 0;
	bool goes_on = true;

	*ret_reason = SKIP_NO_TEMPORARY_FILE;
	if (!btrfs_owner_read(pass->filesystem->fd, extent->inode, extent->size_bytes, &owner,
			      &failed))
		return -1;

	if (owner != 0)
		goes_on = try_subvolume(&file, owner);
	for (guint i = 0; goes_on && i < parts->len; i++)
		goes_on = try_subvolume(&file, g_array_index(parts, CopyPart, i).place.root);
	if (goes_on && owner == 0 && !btrfs_has_simple_quotas(pass->filesystem->identity.fsid))
		goes_on = try_subvolume(&file, BTRFS_SUBVOLUME_TOP);

	if (file.is_full)
		*ret_reason = SKIP_NO_SPACE;
	return file.fd;
}

bool extent_copy_has_room(const Pass *pass, uint64_t bytes)
{
	return bytes <= fs_free_bytes(pass->filesystem->fd) / ROOM_SHARE;
}

/* Space that the pass has freed counts from the next transaction on. */
static bool make_room(const Pass *pass, uint64_t bytes)
{
	g_autoptr(GError) failed = NULL;

	return extent_copy_has_room(pass, bytes) ||
	       (filesystem_flush(pass->filesystem, &failed) && extent_copy_has_room(pass, bytes));
}

ExtentCopy *extent_copy_new(Pass *pass, ExtentFiles *files, const Object *extent,
			    const GArray *parts, CopyFailure *ret_failure)
{
	g_autoptr(GError) failed = NULL;
	g_autoptr(ExtentCopy) copy = g_new0(ExtentCopy, 1);
	g_auto(Fd) fd = -1;
	uint64_t size_bytes = end_of(parts);

	*ret_failure = (CopyFailure){ .reason = SKIP_NO_SPACE };
	if (!make_room(pass, size_bytes))
		return NULL;
	fd = make_file(pass, extent, parts, &ret_failure->reason);
	if (fd < 0)
		return NULL;
	ret_failure->reason = SKIP_NO_TEMPORARY_FILE;
	if (!(extent->flags & OBJECT_READ_SUMS ? file_attributes_make_no_cow(fd)
					       : file_attributes_make_plain(fd)))
		return NULL;
	if (!copy_parts(pass, files, parts, fd, ret_failure))
		return NULL;

	ret_failure->reason = SKIP_CHANGED;
	if (!write_out(pass, fd, size_bytes))
		return NULL;
	ret_failure->reason = SKIP_NO_SPACE;
	if (!look_at(fd, size_bytes, &copy->disk_bytes, &failed))
		return NULL;

	copy->reader = file_reader_new_take(fd_steal(&fd), size_bytes, pass->throttle, pass->stop);
	return compare_repeats(pass, files, parts, copy->reader, ret_failure)
		       ? g_steal_pointer(&copy)
		       : NULL;
}

void extent_copy_free(ExtentCopy *copy)
{
	if (!copy)
		return;

	file_reader_free(copy->reader);
	g_free(copy);
}

FileReader *extent_copy_reader(const ExtentCopy *copy)
{
	return copy->reader;
}

uint64_t extent_copy_disk_bytes(const ExtentCopy *copy)
{
	return copy->disk_bytes;
}
