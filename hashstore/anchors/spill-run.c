/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/anchors/spill-run.h"

#include "hashstore/database/store-io.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <unistd.h>

struct SpillRun {
	int fd;
	char *directory;
	unsigned level;
	size_t record_bytes;
	uint64_t n_records;
	uint64_t n_read; /* records read into the buffer so far */
	uint8_t *buffer; /* not owned */
	size_t size;
	size_t n_buffered;
	size_t next;
};

static bool set_spill_error(const char *tried, const char *directory, int cause, GError **error)
{
	g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(cause),
		    "cannot %s a temporary file in %s: %s", tried, directory, g_strerror(cause));
	return false;
}

/* For filesystems without O_TMPFILE. */
static int open_and_unlink(const char *directory)
{
	g_autofree char *path = g_build_filename(directory, "dedupd-sort-XXXXXX", NULL);
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		unlink(path);

	return fd;
}

SpillRun *spill_run_new(const char *directory, size_t record_bytes, unsigned level, GError **error)
{
	SpillRun *run;
	int fd;

	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = open_and_unlink(directory);
	if (fd < 0) {
		set_spill_error("make", directory, errno, error);
		return NULL;
	}

	run = g_new0(SpillRun, 1);
	run->fd = fd;
	run->directory = g_strdup(directory);
	run->record_bytes = record_bytes;
	run->level = level;

	return run;
}

void spill_run_free(SpillRun *run)
{
	if (!run)
		return;

	close(run->fd);
	g_free(run->directory);
	g_free(run);
}

unsigned spill_run_level(const SpillRun *run)
{
	return run->level;
}

bool spill_run_write(SpillRun *run, const void *records, size_t n, GError **error)
{
	const uint8_t *from = records;
	size_t left = n * run->record_bytes;

	while (left > 0) {
		ssize_t written = store_io_write(run->fd, from, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return set_spill_error("write", run->directory, errno, error);
		from += written;
		left -= (size_t)written;
	}
	run->n_records += n;

	return true;
}

static bool fill(SpillRun *run, GError **error)
{
	size_t n = MIN(run->size, run->n_records - run->n_read);
	uint64_t offset = run->n_read * run->record_bytes;
	size_t done = 0;

	while (done < n * run->record_bytes) {
		ssize_t got = store_io_pread(run->fd, run->buffer + done,
					     n * run->record_bytes - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return set_spill_error("read", run->directory, got < 0 ? errno : EIO,
					       error);
		done += (size_t)got;
	}
	run->n_read += n;
	run->n_buffered = n;
	run->next = 0;

	return true;
}

bool spill_run_rewind(SpillRun *run, void *buffer, size_t size, GError **error)
{
	run->buffer = buffer;
	run->size = size;
	run->n_read = 0;

	return fill(run, error);
}

bool spill_run_next(SpillRun *run, GError **error)
{
	if (++run->next < run->n_buffered)
		return true;

	return fill(run, error);
}

const void *spill_run_record(const SpillRun *run)
{
	if (run->next >= run->n_buffered)
		return NULL;

	return run->buffer + run->next * run->record_bytes;
}
