/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/fleet-key.h"

#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* With the newline at the end. */
#define TEXT_BYTES (2 * HASH_STORE_SECRET_BYTES + 1)

static bool refuse(const char *path, const char *why, GError **error)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "the fleet key %s cannot be used: %s",
		    path, why);
	return false;
}

static bool fail(const char *tried, const char *path, int cause, GError **error)
{
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(cause),
		    "cannot %s the fleet key %s: %s%s", tried, path, g_strerror(cause),
		    cause == ENOENT ? " ('dedupctl fleet-key' makes one)" : "");
	return false;
}

static bool is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* A link of another user could lead to a key that this user chose. */
static bool check(const char *path, int fd, GError **error)
{
	struct stat link, file;

	if (lstat(path, &link) < 0 || fstat(fd, &file) < 0)
		return fail("look at", path, errno, error);
	if (!is_trusted(&link))
		return refuse(path, "it belongs to another user than root", error);
	if (!S_ISREG(file.st_mode))
		return refuse(path, "it is not a regular file", error);
	if (!is_trusted(&file))
		return refuse(path, "it leads to a file of another user than root", error);
	return !(file.st_mode & (S_IRWXG | S_IRWXO)) ||
	       refuse(path, "others may read or write it: 'chmod 600' changes that", error);
}

bool fleet_key_parse(const char *text, uint8_t ret[HASH_STORE_SECRET_BYTES])
{
	for (size_t i = 0; i < HASH_STORE_SECRET_BYTES; i++) {
		int high = g_ascii_xdigit_value(text[2 * i]);
		int low = g_ascii_xdigit_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
	}
	return true;
}

static void set_id(FleetKey *key)
{
	g_autofree char *sum =
		g_compute_checksum_for_data(G_CHECKSUM_SHA256, key->secret, sizeof(key->secret));

	g_strlcpy(key->id, sum, sizeof(key->id));
}

bool fleet_key_read(const char *path, FleetKey *ret, GError **error)
{
	/* A FIFO in its place must not block. */
	g_auto(Fd) fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[TEXT_BYTES + 1];
	bool is_valid;

	if (fd < 0)
		return fail("read", path, errno, error);
	if (!check(path, fd, error))
		return false;
	is_valid = read(fd, text, sizeof(text)) == TEXT_BYTES &&
		   fleet_key_parse(text, ret->secret) && text[TEXT_BYTES - 1] == '\n';
	explicit_bzero(text, sizeof(text));
	if (!is_valid)
		return refuse(path, "it is not 384 hexadecimal digits and a newline", error);

	set_id(ret);
	return true;
}

static bool write_text(const char *path, const FleetKey *key, GError **error)
{
	g_auto(Fd) fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	char text[TEXT_BYTES + 1];
	bool is_written;

	if (fd < 0)
		return fail("make", path, errno, error);
	for (size_t i = 0; i < sizeof(key->secret); i++)
		g_snprintf(text + 2 * i, 3, "%02x", key->secret[i]);
	text[TEXT_BYTES - 1] = '\n';
	is_written = fchmod(fd, 0600) == 0 && write(fd, text, TEXT_BYTES) == TEXT_BYTES &&
		     fsync(fd) == 0;
	explicit_bzero(text, sizeof(text));
	return is_written || fail("write", path, errno, error);
}

bool fleet_key_make(const char *path, bool replace, FleetKey *ret, GError **error)
{
	g_autofree char *made = g_strconcat(path, ".new", NULL);
	bool is_made;

	if (getrandom(ret->secret, sizeof(ret->secret), 0) != (ssize_t)sizeof(ret->secret))
		return fail("get random bytes for", path, errno, error);
	set_id(ret);
	/* One that an interrupted call left. */
	unlink(made);
	/* link() replaces nothing, rename() does. */
	is_made = write_text(made, ret, error) &&
		  ((replace ? rename(made, path) : link(made, path)) == 0 ||
		   fail("make", path, errno, error));
	unlink(made);
	return is_made;
}

void fleet_key_clear(FleetKey *key)
{
	explicit_bzero(key, sizeof(*key));
}
