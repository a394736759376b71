/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/fs/programs/raced-file.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_BYTES_MAX  300
#define PAUSE_USEC_MAX   300
#define PAUSE_ONE_IN     8
#define MSYNC_ONE_IN     64
#define CHECK_STEP_BYTES (UINT64_C(256) << 10)

static bool fail(const RacedFile *file, const char *what, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot %s %s: %s", what, file->name,
		    g_strerror(errno));
	return false;
}

static bool is_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Open the file, which must be as it was left; -1 with an error. */
static int open_as_left(const RacedFile *file, int tree, int flags, GError **error)
{
	g_auto(Fd) fd = openat(tree, file->name, flags | O_NOFOLLOW | O_CLOEXEC);
	const char *wrong = NULL;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0) {
		fail(file, "open", error);
		return -1;
	}

	if ((uint64_t)status.st_size != shadow_size(file->shadow))
		wrong = "size";
	else if (!is_time(&status.st_mtim, &file->mtime))
		wrong = "modification time";
	else if (!is_time(&status.st_ctim, &file->ctime))
		wrong = "change time";
	if (!wrong)
		return fd_steal(&fd);

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s has another %s than was left it",
		    file->name, wrong);
	return -1;
}

static bool note_times(RacedFile *file, int fd, GError **error)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return fail(file, "look at", error);

	file->mtime = status.st_mtim;
	file->ctime = status.st_ctim;
	return true;
}

RacedFile *raced_file_create(int tree, const char *name, bool is_no_cow, GError **error)
{
	g_autoptr(RacedFile) file = g_new0(RacedFile, 1);
	int flags = FS_NOCOW_FL;
	g_auto(Fd) fd = -1;

	file->name = g_strdup(name);
	file->shadow = shadow_new();
	fd = openat(tree, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0) {
		fail(file, "create", error);
		return NULL;
	}
	/* XFS knows no such files. */
	file->is_no_cow = is_no_cow && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;

	return note_times(file, fd, error) ? g_steal_pointer(&file) : NULL;
}

RacedFile *raced_file_copy(const RacedFile *file)
{
	RacedFile *copy = g_memdup2(file, sizeof(*file));

	copy->name = g_strdup(file->name);
	copy->shadow = shadow_copy(file->shadow);
	return copy;
}

void raced_file_free(RacedFile *file)
{
	if (!file)
		return;

	shadow_free(file->shadow);
	g_free(file->name);
	g_free(file);
}

bool raced_file_write(RacedFile *file, int tree, uint64_t offset, const void *data, uint64_t length,
		      bool is_direct, GError **error)
{
	g_auto(Fd) fd = open_as_left(file, tree, O_WRONLY | (is_direct ? O_DIRECT : 0), error);
	const uint8_t *from = data;

	if (fd < 0)
		return false;

	for (uint64_t done = 0; done < length;) {
		ssize_t written = pwrite(fd, from + done, length - done, (off_t)(offset + done));

		if (written <= 0)
			return fail(file, "write", error);
		done += (uint64_t)written;
	}

	shadow_write(file->shadow, offset, data, length);
	return note_times(file, fd, error);
}

static bool differs(const RacedFile *file, uint64_t offset, const uint8_t *found,
		    const uint8_t *right, uint64_t length, GError **error)
{
	uint64_t first = 0, n = 0;

	for (uint64_t i = length; i-- > 0;)
		if (found[i] != right[i]) {
			first = i;
			n++;
		}

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
		    "%s differs in %" G_GUINT64_FORMAT " bytes of %" G_GUINT64_FORMAT
		    ", first at %" G_GUINT64_FORMAT ": %02x instead of %02x",
		    file->name, n, length, offset + first, found[first], right[first]);
	return false;
}

/* What is in a page, before and after a store, is what the shadow says. */
static bool store_once(RacedFile *file, uint8_t *map, GRand *chance, GError **error)
{
	uint64_t size = shadow_size(file->shadow);
	uint64_t at = (uint64_t)g_rand_int_range(chance, 0, (gint32)size);
	uint64_t drawn = (uint64_t)g_rand_int_range(chance, 1, STORE_BYTES_MAX);
	uint64_t length = MIN(drawn, size - at);
	uint8_t data[STORE_BYTES_MAX];

	shadow_read(file->shadow, at, length, data);
	if (memcmp(map + at, data, length) != 0)
		return differs(file, at, map + at, data, length, error);

	for (uint64_t i = 0; i < length; i++)
		data[i] = (uint8_t)g_rand_int(chance);
	memcpy(map + at, data, length);
	shadow_write(file->shadow, at, data, length);
	if (g_rand_int_range(chance, 0, PAUSE_ONE_IN) == 0)
		g_usleep((gulong)g_rand_int_range(chance, 0, PAUSE_USEC_MAX));
	return true;
}

bool raced_file_store(RacedFile *file, int tree, GRand *chance, unsigned n_stores, GError **error)
{
	g_auto(Fd) fd = open_as_left(file, tree, O_RDWR, error);
	uint64_t size = shadow_size(file->shadow);
	bool is_good = true;
	uint8_t *map;

	if (fd < 0 || size == 0)
		return fd >= 0;

	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return fail(file, "map", error);

	for (unsigned i = 0; is_good && i < n_stores; i++)
		is_good = store_once(file, map, chance, error);
	if (is_good && g_rand_int_range(chance, 0, MSYNC_ONE_IN) == 0 &&
	    msync(map, size, MS_SYNC) != 0)
		is_good = fail(file, "write out the mapping of", error);
	munmap(map, size);
	return is_good && note_times(file, fd, error);
}

bool raced_file_truncate(RacedFile *file, int tree, uint64_t size_bytes, GError **error)
{
	g_auto(Fd) fd = open_as_left(file, tree, O_WRONLY, error);

	if (fd < 0)
		return false;
	if (ftruncate(fd, (off_t)size_bytes) != 0)
		return fail(file, "truncate", error);

	shadow_resize(file->shadow, size_bytes);
	return note_times(file, fd, error);
}

bool raced_file_punch(RacedFile *file, int tree, uint64_t offset, uint64_t length, GError **error)
{
	g_auto(Fd) fd = open_as_left(file, tree, O_WRONLY, error);
	int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	if (fd < 0)
		return false;
	if (fallocate(fd, mode, (off_t)offset, (off_t)length) != 0)
		return fail(file, "punch a hole into", error);

	shadow_clear(file->shadow, offset, length);
	return note_times(file, fd, error);
}

bool raced_file_reserve(RacedFile *file, int tree, uint64_t offset, uint64_t length, GError **error)
{
	g_auto(Fd) fd = open_as_left(file, tree, O_WRONLY, error);

	if (fd < 0)
		return false;
	if (fallocate(fd, 0, (off_t)offset, (off_t)length) != 0)
		return fail(file, "preallocate", error);

	if (offset + length > shadow_size(file->shadow))
		shadow_resize(file->shadow, offset + length);
	return note_times(file, fd, error);
}

bool raced_file_clone(RacedFile *file, int tree, uint64_t offset, const RacedFile *from,
		      int from_tree, uint64_t from_offset, uint64_t length, GError **error)
{
	g_auto(Fd) source = open_as_left(from, from_tree, O_RDONLY, error);
	g_auto(Fd) fd = source < 0 ? -1 : open_as_left(file, tree, O_WRONLY, error);
	struct file_clone_range range = {
		.src_fd = source,
		.src_offset = from_offset,
		.src_length = length,
		.dest_offset = offset,
	};

	if (fd < 0)
		return false;
	if (ioctl(fd, FICLONERANGE, &range) != 0)
		return fail(file, "clone into", error);

	shadow_clone(file->shadow, offset, from->shadow, from_offset, length);
	return note_times(file, fd, error);
}

bool raced_file_rename(RacedFile *file, int tree, const char *name, GError **error)
{
	g_auto(Fd) fd = open_as_left(file, tree, O_RDONLY, error);

	if (fd < 0)
		return false;
	if (renameat(tree, file->name, tree, name) != 0)
		return fail(file, "rename", error);

	g_free(file->name);
	file->name = g_strdup(name);
	return note_times(file, fd, error);
}

bool raced_file_flush(RacedFile *file, int tree, GError **error)
{
	g_auto(Fd) fd = open_as_left(file, tree, O_WRONLY, error);

	return fd >= 0 && (fsync(fd) == 0 || fail(file, "flush", error));
}

static bool compare(const RacedFile *file, int fd, uint64_t offset, uint64_t length, GError **error)
{
	g_autofree uint8_t *found = g_malloc(CHECK_STEP_BYTES);
	g_autofree uint8_t *right = g_malloc(CHECK_STEP_BYTES);

	for (uint64_t part; length > 0; offset += part, length -= part) {
		part = MIN(length, CHECK_STEP_BYTES);
		if (pread(fd, found, part, (off_t)offset) != (ssize_t)part)
			return fail(file, "read", error);
		shadow_read(file->shadow, offset, part, right);
		if (memcmp(found, right, part) != 0)
			return differs(file, offset, found, right, part, error);
	}

	return true;
}

bool raced_file_check(const RacedFile *file, int tree, uint64_t offset, uint64_t length,
		      bool from_disk, GError **error)
{
	g_auto(Fd) fd = open_as_left(file, tree, O_RDONLY, error);

	if (fd < 0)
		return false;
	/* Pages that are not written out yet are not dropped. */
	if (from_disk && (fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0))
		return fail(file, "drop the pages of", error);

	return compare(file, fd, offset, length, error);
}
