/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bare-walk - list a tree and statx() every entry, and nothing else.
 *
 * What a pass over an unchanged filesystem is measured against: without privilege there is no
 * cheaper way to see that nothing changed.  Prints how many regular files it met.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_BYTES (64 * 1024)

typedef struct {
	uint64_t files;
	uint64_t bytes;
} Totals;

static void walk(int directory, const char *name, Totals *totals);

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void look_at(int directory, const char *name, Totals *totals)
{
	struct statx status;

	if (statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &status) <
	    0)
		err(EXIT_FAILURE, "cannot stat %s", name);

	if (S_ISDIR(status.stx_mode)) {
		walk(directory, name, totals);
	} else if (S_ISREG(status.stx_mode)) {
		totals->files++;
		totals->bytes += status.stx_size;
	}
}

static void walk(int parent, const char *name, Totals *totals)
{
	char *entries = malloc(ENTRIES_BYTES);
	int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t length;

	if (!entries || directory < 0)
		err(EXIT_FAILURE, "cannot open %s", name);

	while ((length = getdents64(directory, entries, ENTRIES_BYTES)) > 0) {
		for (ssize_t at = 0; at < length;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			if (!is_dot(entry->d_name))
				look_at(directory, entry->d_name, totals);
			at += entry->d_reclen;
		}
	}
	if (length < 0)
		err(EXIT_FAILURE, "cannot list %s", name);

	close(directory);
	free(entries);
}

int main(int argc, char **argv)
{
	Totals totals = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: bare-walk DIRECTORY\n");
		return 2;
	}

	walk(AT_FDCWD, argv[1], &totals);
	printf("%ju files, %ju bytes\n", (uintmax_t)totals.files, (uintmax_t)totals.bytes);
	return 0;
}
