/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/file-reader.h"

#include "kernel-ioctl/fd.h"
#include "kernel-ioctl/page-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_BYTES (UINT64_C(16) << 20)
#define WINDOWS      4

typedef struct {
	uint64_t start;
	bool is_ours; /* to be dropped */
} Window;

struct FileReader {
	Fd fd;
	uint64_t size_bytes;
	Throttle *throttle;
	const atomic_bool *stop;
	uint64_t charged_start; /* range that was charged when it was fetched */
	uint64_t charged_end;
	size_t n_windows;
	Window windows[WINDOWS]; /* oldest first */
};

FileReader *file_reader_new_take(int fd, uint64_t size_bytes, Throttle *throttle,
				 const atomic_bool *stop)
{
	FileReader *reader = g_new0(FileReader, 1);

	reader->fd = fd;
	reader->size_bytes = size_bytes;
	reader->throttle = throttle;
	reader->stop = stop;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return reader;
}

static void drop_window(FileReader *reader, const Window *window)
{
	if (window->is_ours)
		page_cache_drop(reader->fd, window->start, WINDOW_BYTES);
}

void file_reader_free(FileReader *reader)
{
	if (!reader)
		return;

	for (size_t i = 0; i < reader->n_windows; i++)
		drop_window(reader, &reader->windows[i]);
	fd_close(&reader->fd);
	g_free(reader);
}

int file_reader_fd(const FileReader *reader)
{
	return reader->fd;
}

uint64_t file_reader_size_bytes(const FileReader *reader)
{
	return reader->size_bytes;
}

/* Before anything of the window at @start is read: was it in the cache? */
static void enter_window(FileReader *reader, uint64_t start)
{
	uint64_t length = MIN(WINDOW_BYTES, reader->size_bytes - start);

	for (size_t i = 0; i < reader->n_windows; i++)
		if (reader->windows[i].start == start)
			return;

	if (reader->n_windows == WINDOWS) {
		drop_window(reader, &reader->windows[0]);
		memmove(reader->windows, reader->windows + 1, (WINDOWS - 1) * sizeof(Window));
		reader->n_windows--;
	}

	reader->windows[reader->n_windows++] = (Window){
		.start = start,
		.is_ours = page_cache_resident_bytes(reader->fd, start, length) < (length + 1) / 2,
	};
}

static bool prepare(FileReader *reader, uint64_t offset, uint64_t length)
{
	uint64_t end = MIN(offset + length, reader->size_bytes);
	uint64_t absent;

	if (atomic_load(reader->stop))
		return false;
	if (offset >= end || (offset >= reader->charged_start && end <= reader->charged_end))
		return true;

	for (uint64_t start = offset - offset % WINDOW_BYTES; start < end; start += WINDOW_BYTES)
		enter_window(reader, start);

	if (!throttle_is_limited(reader->throttle))
		return true;

	absent = end - offset -
		 MIN(end - offset, page_cache_resident_bytes(reader->fd, offset, end - offset));
	return throttle_take(reader->throttle, absent, reader->stop);
}

ReadOutcome file_reader_fetch(FileReader *reader, uint64_t offset, uint64_t length)
{
	if (!prepare(reader, offset, length))
		return READ_STOPPED;

	page_cache_fetch(reader->fd, offset, length);
	reader->charged_start = offset;
	reader->charged_end = MIN(offset + length, reader->size_bytes);
	return READ_DONE;
}

ReadOutcome file_reader_read(FileReader *reader, uint64_t offset, uint64_t length, void *buffer)
{
	uint8_t *bytes = buffer;
	uint64_t done = 0;

	if (!prepare(reader, offset, length))
		return READ_STOPPED;

	while (done < length) {
		ssize_t got =
			pread(reader->fd, bytes + done, length - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return READ_UNREADABLE;
		if (got == 0)
			return READ_SHORT;
		done += (uint64_t)got;
	}

	return READ_DONE;
}
