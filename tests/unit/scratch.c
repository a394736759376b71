/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

Scratch *scratch_new(void)
{
	const char *parent = g_getenv("DEDUPD_TEST_DIR");
	Scratch *scratch = g_new0(Scratch, 1);

	scratch->path = g_strdup_printf("%s/dedupd-test-XXXXXX", parent ? parent : g_get_tmp_dir());
	g_assert_nonnull(g_mkdtemp(scratch->path));
	/* Children that become another user enter it, too. */
	g_assert_cmpint(chmod(scratch->path, 0755), ==, 0);
	scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_assert_cmpint(scratch->fd, >=, 0);
	return scratch;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void scratch_free(Scratch *scratch)
{
	if (!scratch)
		return;
	close(scratch->fd);
	/* nftw(3) does not reach what lies deeper than PATH_MAX. */
	if (nftw(scratch->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0) {
		const char *command[] = { "rm", "-rf", "--", scratch->path, NULL };

		g_spawn_sync(NULL, (char **)command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
			     NULL, NULL, NULL);
	}
	g_free(scratch->path);
	g_free(scratch);
}

void scratch_fill(int fd, uint64_t offset, size_t size, uint32_t seed)
{
	g_autofree uint32_t *words = g_malloc(size + sizeof(uint32_t));
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);

	for (size_t i = 0; i * sizeof(uint32_t) < size; i++)
		words[i] = g_rand_int(rand);

	for (size_t done = 0; done < size;) {
		ssize_t n = pwrite(fd, (char *)words + done, size - done, (off_t)(offset + done));

		g_assert_cmpint(n, >, 0);
		done += (size_t)n;
	}
}

int scratch_create(Scratch *scratch, const char *name, size_t size, uint32_t seed)
{
	int fd = openat(scratch->fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	g_assert_cmpint(fd, >=, 0);
	scratch_fill(fd, 0, size, seed);
	return fd;
}

char *scratch_path(const Scratch *scratch, const char *name)
{
	return g_build_filename(scratch->path, name, NULL);
}

static void make_directory_of(const char *path)
{
	g_autofree char *directory = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(directory, 0755), ==, 0);
}

void scratch_put(const Scratch *scratch, const char *name, const char *text)
{
	g_autofree char *path = scratch_path(scratch, name);

	make_directory_of(path);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

void scratch_link(const Scratch *scratch, const char *target, const char *name)
{
	g_autofree char *path = scratch_path(scratch, name);
	g_autofree char *target_path = scratch_path(scratch, target);

	make_directory_of(path);
	g_assert_cmpint(symlink(target_path, path), ==, 0);
}

void scratch_run_in_child(void (*body)(void *data), void *data)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		body(data);
		_exit(0);
	}

	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
}

void scratch_refuse_system_call(unsigned number, int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = G_N_ELEMENTS(filter), .filter = filter };

	g_assert_cmpint(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
	g_assert_cmpint(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), ==, 0);
}

void scratch_become_nobody(void)
{
	if (geteuid() == 0) {
		g_assert_cmpint(setresgid(NOBODY, NOBODY, NOBODY), ==, 0);
		g_assert_cmpint(setresuid(NOBODY, NOBODY, NOBODY), ==, 0);
	}
}

void scratch_become_nobody_without_directories(void)
{
	scratch_become_nobody();
	g_setenv("HOME", "/root", true);
	g_setenv("XDG_CACHE_HOME", "/tmp", true);
	g_setenv("XDG_RUNTIME_DIR", "/tmp", true);
}
