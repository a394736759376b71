/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-pass.h"

#include "cli/terminal/dedupd-program.h"
#include "common/system/temporary-file.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The interval between checks whether it has ended. */
#define LOOK_USEC (G_USEC_PER_SEC / 50)

static void fail(GError **error, const char *cause)
{
	g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "cannot make a dry run: %s", cause);
}

/* Create a directory for the store of one dry run; NULL: failed. */
typedef char StateDirectory;

static StateDirectory *state_directory_new(const char *above, GError **error)
{
	StateDirectory *directory = g_build_filename(above, "dedupctl-estimate-XXXXXX", NULL);

	if (g_mkdtemp(directory))
		return directory;
	fail(error, g_strerror(errno));
	g_free(directory);
	return NULL;
}

static void state_directory_remove(StateDirectory *directory)
{
	g_autoptr(GDir) entries = g_dir_open(directory, 0, NULL);
	const char *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree char *path = g_build_filename(directory, name, NULL);

		g_unlink(path);
	}
	g_rmdir(directory);
	g_free(directory);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StateDirectory, state_directory_remove)

static GStrv words_of(const EstimateTask *task, const char *program, const char *directory)
{
	g_autoptr(GStrvBuilder) words = g_strv_builder_new();

	g_strv_builder_add_many(words, program, "--once", "--now", "--dry-run", "--json",
				"--priority=idle", "--run-for=52w", "--state-dir", directory, NULL);
	g_strv_builder_addv(words, (const char **)task->words);
	if (!isatty(STDERR_FILENO))
		g_strv_builder_add(words, "--quiet");
	g_strv_builder_add(words, "--");
	g_strv_builder_addv(words, (const char **)task->paths);
	return g_strv_builder_end(words);
}

/* End it together with this process. */
static void die_with_parent(void *data)
{
	(void)data;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

/* Wait for the process.  If this one is asked to end, ask that one, too. */
static void wait_for(GPid process, const atomic_bool *stop)
{
	bool is_asked = false;

	while (waitpid(process, NULL, WNOHANG) == 0) {
		if (atomic_load(stop) && !is_asked)
			is_asked = kill(process, SIGTERM) == 0;
		g_usleep(LOOK_USEC);
	}
}

/* Its own output is for users who watch; the report names the failure. */
static bool run(char **words, int output, const atomic_bool *stop, GError **error)
{
	g_auto(Fd) nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	GPid process;

	if (!g_spawn_async_with_fds(NULL, words, NULL, G_SPAWN_DO_NOT_REAP_CHILD, die_with_parent,
				    NULL, &process, -1, output,
				    isatty(STDERR_FILENO) ? -1 : nowhere, error))
		return false;

	wait_for(process, stop);
	return true;
}

static uint64_t number_of(const json_t *filesystem, const char *section, const char *key)
{
	const json_t *found = json_object_get(json_object_get(filesystem, section), key);

	return (uint64_t)json_integer_value(found);
}

static bool take_report(int fd, Estimate *ret, GError **error)
{
	json_t *report = lseek(fd, 0, SEEK_SET) == 0 ? json_loadfd(fd, 0, NULL) : NULL;
	json_t *filesystem = json_array_get(json_object_get(report, "filesystems"), 0);
	const char *outcome = json_string_value(json_object_get(filesystem, "outcome"));
	const char *failure = json_string_value(json_object_get(filesystem, "error"));
	const char *stopped = json_string_value(json_object_get(filesystem, "stopped_reason"));
	bool is_done = !failure && g_strcmp0(outcome, "complete") == 0;

	if (failure || stopped)
		fail(error, failure ? failure : stopped);
	else if (!is_done)
		fail(error, filesystem ? "the dry run was ended before it was complete"
				       : "dedupd gave no report");
	ret->pass = (Bounded){ number_of(filesystem, "freed", "bytes"),
			       number_of(filesystem, "freed", "low_bytes"),
			       number_of(filesystem, "freed", "high_bytes") };
	ret->deferred_bytes = number_of(filesystem, "deferred", "bytes");
	ret->deferred_written_bytes = number_of(filesystem, "deferred", "written_bytes");
	ret->n_runs = number_of(filesystem, "shared", "runs");
	ret->store_bytes = number_of(filesystem, "store", "bytes");
	json_decref(report);
	return is_done;
}

bool estimate_pass_make(const EstimateTask *task, Estimate *ret, GError **error)
{
	g_autofree char *program = dedupd_program_find();
	g_autoptr(StateDirectory) directory = NULL;
	g_auto(GStrv) words = NULL;
	g_auto(Fd) output = -1;

	if (!program) {
		fail(error, "dedupd is not where it would be installed: " DEDUPD_PATH);
		return false;
	}
	directory = state_directory_new(task->directory, error);
	if (!directory)
		return false;
	output = temporary_file_open(task->directory, error);
	if (output < 0)
		return false;

	words = words_of(task, program, directory);
	if (!run(words, output, task->stop, error))
		return false;
	return atomic_load(task->stop) || take_report(output, ret, error);
}
