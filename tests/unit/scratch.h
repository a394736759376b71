/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Scratch - a directory for one test, removed with its contents.  It lies in $DEDUPD_TEST_DIR, a real btrfs or
 * XFS filesystem, if that is set; else in the directory for temporary files.  A failure in it fails the test.
 */
typedef struct {
	char *path;
	int fd;
} Scratch;

Scratch *scratch_new(void);
void scratch_free(Scratch *scratch);

/*
 * Create @name with @size bytes that depend only on @seed and do not compress.  Returns a descriptor, O_RDWR.
 */
int scratch_create(Scratch *scratch, const char *name, size_t size, uint32_t seed);

/* Write such bytes at @offset; those of one seed begin with its first byte. */
void scratch_fill(int fd, uint64_t offset, size_t size, uint32_t seed);

/* The absolute path of @name, to be freed. */
char *scratch_path(const Scratch *scratch, const char *name);

/* Write a file, or make a symlink @name to the path of @target, with the directories above. */
void scratch_put(const Scratch *scratch, const char *name, const char *text);
void scratch_link(const Scratch *scratch, const char *target, const char *name);

/*
 * Run @body in a child process, so that it may change its user or namespace, or block a system call.  The
 * child must succeed.
 */
void scratch_run_in_child(void (*body)(void *data), void *data);

/* From now on the system call @number fails with @error in this process (seccomp). */
void scratch_refuse_system_call(unsigned number, int error);

/* From now on this process is the user nobody, if it was root. */
void scratch_become_nobody(void);

/* The same, and no user directory of the environment belongs to nobody. */
void scratch_become_nobody_without_directories(void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scratch, scratch_free)
