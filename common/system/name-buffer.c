/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/name-buffer.h"

#include "common/system/temporary-file.h"
#include "hashstore/database/store-io.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define MEMORY_BYTES (UINT64_C(4) << 20)

struct NameBuffer {
	char *directory;
	GString *memory;  /* names from position base on */
	uint64_t base;    /* bytes in the file */
	Fd fd;            /* -1 until the first byte spills */
	GByteArray *name; /* the name returned last, if it was read from the file */
};

NameBuffer *name_buffer_new(const char *directory)
{
	NameBuffer *spool = g_new0(NameBuffer, 1);

	spool->directory = g_strdup(directory);
	spool->memory = g_string_new(NULL);
	spool->name = g_byte_array_new();
	g_byte_array_set_size(spool->name, PATH_MAX);
	spool->fd = -1;
	return spool;
}

void name_buffer_free(NameBuffer *spool)
{
	if (!spool)
		return;

	fd_close(&spool->fd);
	g_string_free(spool->memory, true);
	g_byte_array_unref(spool->name);
	g_free(spool->directory);
	g_free(spool);
}

static bool spill(NameBuffer *spool, GError **error)
{
	size_t done = 0;

	if (spool->fd < 0)
		spool->fd = temporary_file_open(spool->directory, error);
	if (spool->fd < 0)
		return false;

	while (done < spool->memory->len) {
		ssize_t written =
			store_io_pwrite(spool->fd, spool->memory->str + done,
					spool->memory->len - done, (off_t)(spool->base + done));

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
				    "cannot write a temporary file in %s: %s", spool->directory,
				    g_strerror(errno));
			return false;
		}
		done += (size_t)written;
	}

	spool->base += spool->memory->len;
	g_string_truncate(spool->memory, 0);
	return true;
}

bool name_buffer_add(NameBuffer *spool, const char *name, uint64_t *ret_position, GError **error)
{
	if (spool->memory->len >= MEMORY_BYTES && !spill(spool, error))
		return false;

	*ret_position = spool->base + spool->memory->len;
	g_string_append_len(spool->memory, name, (gssize)strlen(name) + 1);
	return true;
}

/* Read from the file at @position as much as there is room for.  False: error, or nothing was read. */
static bool read_name(NameBuffer *spool, uint64_t position, size_t *ret_bytes, GError **error)
{
	ssize_t got;

	do
		got = store_io_pread(spool->fd, spool->name->data, spool->name->len,
				     (off_t)position);
	while (got < 0 && errno == EINTR);
	if (got <= 0) {
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cannot read a temporary file in %s: %s", spool->directory,
			    g_strerror(errno));
		return false;
	}

	*ret_bytes = (size_t)got;
	return true;
}

bool name_buffer_get(NameBuffer *spool, uint64_t position, const char **ret, GError **error)
{
	size_t n_bytes;

	if (position >= spool->base) {
		*ret = spool->memory->str + (position - spool->base);
		return true;
	}

	/* The file has names with their NULs. */
	while (true) {
		if (!read_name(spool, position, &n_bytes, error))
			return false;
		if (memchr(spool->name->data, 0, n_bytes))
			break;
		g_byte_array_set_size(spool->name, spool->name->len * 2);
	}

	*ret = (const char *)spool->name->data;
	return true;
}
