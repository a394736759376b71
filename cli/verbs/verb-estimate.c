/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-table.h"
#include "cli/estimate/estimate.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"
#include "common/config/config.h"
#include "common/disks/disk-table.h"
#include "common/mounts/mount-table.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/machine/thread-priority.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The default share of data to read if files are read, and the minimum amount. */
#define SAMPLE_FRACTION  (1.0 / 16)
#define SAMPLE_MIN_BYTES (UINT64_C(1) << 30)

static atomic_bool stop;
static volatile sig_atomic_t stop_signal;

/* The request, for all filesystems. */
typedef struct {
	const Options *options;
	Config *config;
	MountTable *mounts;
	Table *table;
	ExitStatus status;
} Request;

/* A filesystem, and the request for it. */
typedef struct {
	FsIdentity identity;
	char uuid[FS_UUID_TEXT_BYTES];
	GPtrArray *paths; /* of char *, NULL-terminated when complete */
} Subject;

static void request_clear(Request *request)
{
	g_clear_pointer(&request->config, config_free);
	g_clear_pointer(&request->mounts, mount_table_free);
	g_clear_pointer(&request->table, table_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Request, request_clear)

static void subject_free(void *data)
{
	Subject *subject = data;

	g_ptr_array_unref(subject->paths);
	g_free(subject);
}

static void catch_signal(int number)
{
	stop_signal = number;
	atomic_store(&stop, true);
}

static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = catch_signal, .sa_flags = SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static void fail(Request *request, const GError *error)
{
	message_print_error(error);
	request->status = EXIT_STATUS_FAILED;
}

/* Identify the directory that was named. */
static bool identify(const char *path, FsIdentity *ret, GError **error)
{
	g_autofree char *text = message_terminal_text(path);
	g_auto(Fd) fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cannot read %s: %s", text, g_strerror(errno));
		return false;
	}
	if (!fs_identity_read(fd, ret, error))
		return false;
	if (ret->kind != FS_KIND_OTHER)
		return true;

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "%s is not on a btrfs or XFS filesystem: dedupd supports only these", text);
	return false;
}

static void add_path(GPtrArray *subjects, const FsIdentity *identity, const char *path)
{
	Subject *subject = NULL;

	for (guint i = 0; i < subjects->len && !subject; i++) {
		Subject *known = subjects->pdata[i];

		if (memcmp(known->identity.uuid, identity->uuid, FS_UUID_BYTES) == 0)
			subject = known;
	}
	if (!subject) {
		subject = g_new0(Subject, 1);
		subject->identity = *identity;
		fs_uuid_format(identity->uuid, subject->uuid);
		subject->paths = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(subjects, subject);
	}
	g_ptr_array_add(subject->paths, g_strdup(path));
}

/* The named filesystems, or all mounted ones that can share. */
static GPtrArray *list_subjects(Request *request)
{
	GPtrArray *subjects = g_ptr_array_new_with_free_func(subject_free);
	const GPtrArray *mounted = mount_table_filesystems(request->mounts);
	char **names = request->options->names;

	for (char **name = names; name && *name; name++) {
		g_autoptr(GError) error = NULL;
		FsIdentity identity;

		if (identify(*name, &identity, &error))
			add_path(subjects, &identity, *name);
		else
			fail(request, error);
	}
	for (guint i = 0; !names && i < mounted->len; i++) {
		const MountedFilesystem *filesystem = mounted->pdata[i];
		g_auto(GStrv) ways = mounted_filesystem_ways(filesystem);

		for (char **way = ways; !filesystem->refusal && *way; way++)
			add_path(subjects, &filesystem->identity, *way);
	}
	for (guint i = 0; i < subjects->len; i++)
		g_ptr_array_add(((Subject *)subjects->pdata[i])->paths, NULL);
	return subjects;
}

/* The settings of a pass over the filesystem, with those of the command line. */
static void make_settings(const Request *request, const Subject *subject,
			  const MountedFilesystem *mounted, Settings *ret)
{
	const char *alone[] = { subject->uuid, NULL };
	g_auto(GStrv) names = mounted ? mounted_filesystem_names(mounted, NULL) : NULL;

	config_settings(request->config, names ? (const char *const *)names : alone, ret);
	settings_add_excludes(ret, request->options->excludes);
	if (request->options->min_size)
		ret->min_size_bytes = request->options->min_size_bytes;
	if (request->options->limit_rate)
		ret->rate_bytes = request->options->limit_rate_bytes;
}

/* The limit of the disks per second; 0: none. */
static uint64_t budget_of(DiskTable *disks, const Settings *settings)
{
	g_autoptr(GPtrArray) views = disk_table_views(disks);
	uint64_t least = settings->rate_bytes > 0 ? settings->rate_bytes : UINT64_MAX;

	for (guint i = 0; i < views->len; i++) {
		const DiskView *view = views->pdata[i];

		if (view->rules.limits.bytes > 0)
			least = MIN(least, view->rules.limits.bytes);
	}
	return least == UINT64_MAX ? 0 : least;
}

/* How much to read, if files are read. */
static double fraction_of(const Request *request, const FsIdentity *identity, int fd)
{
	uint64_t used_bytes;

	if (request->options->full)
		return 1;
	if (request->options->sample)
		return request->options->sample_percent / 100;
	if (!fs_used_bytes(fd, identity->kind, &used_bytes, NULL) || used_bytes == 0)
		return SAMPLE_FRACTION;
	return CLAMP((double)SAMPLE_MIN_BYTES / (double)used_bytes, SAMPLE_FRACTION, 1);
}

/* Print what concerns this filesystem alone. */
static void print_rest(const Request *request, const EstimateSubject *subject,
		       const Estimate *estimate, const EstimateForecast *forecast)
{
	if (options_are_for_programs(request->options))
		return;

	table_print(request->table);
	estimate_table_print_curves(request->options, subject, estimate, forecast);
	if (request->options->plot)
		estimate_table_draw(subject, estimate);
}

static void say_unreadable(Request *request, const Estimate *estimate)
{
	if (estimate->n_unreadable == 1)
		message_print("%s: it counts as nothing", estimate->unreadable);
	else
		message_print("%s: it and %" G_GUINT64_FORMAT " others count as nothing",
			      estimate->unreadable, estimate->n_unreadable - 1);
	if (request->status == EXIT_STATUS_DONE)
		request->status = EXIT_STATUS_UNREADABLE;
}

static void add_option(GStrvBuilder *words, const char *name, const char *value)
{
	if (value)
		g_strv_builder_add_many(words, name, value, NULL);
}

/* The request in the form of dedupd's options. */
static GStrv dedupd_words(const Options *options)
{
	g_autoptr(GStrvBuilder) words = g_strv_builder_new();

	add_option(words, "--config", options->config);
	add_option(words, "--min-size", options->min_size);
	add_option(words, "--limit-rate", options->limit_rate);
	for (char **exclude = options->excludes; exclude && *exclude; exclude++)
		add_option(words, "--exclude", *exclude);
	return g_strv_builder_end(words);
}

static bool estimate_subject(Request *request, const Subject *subject, GError **error)
{
	const MountedFilesystem *mounted = mount_table_find_uuid(request->mounts, subject->uuid);
	const char *const *paths = (const char *const *)subject->paths->pdata;
	g_auto(Fd) fd = open(paths[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
	const char *temporary = g_getenv("TMPDIR");
	g_autoptr(DiskTable) disks = disk_table_new();
	g_autoptr(Throttle) throttle = NULL;
	g_auto(Settings) settings = { 0 };
	g_auto(GStrv) words = dedupd_words(request->options);
	EstimateTask task = {
		.paths = paths,
		.mount_point = paths[0],
		.identity = subject->identity,
		.fd = fd,
		.settings = &settings,
		.words = words,
		.directory = temporary ? temporary : "/var/tmp",
		.fraction = 1,
		.seed = (uint64_t)g_random_int() << 32 | g_random_int(),
		.stop = &stop,
	};
	const EstimateSubject names = { paths[0], subject->uuid,
					fs_kind_name(subject->identity.kind) };
	EstimateForecast forecast;
	g_auto(Estimate) estimate = { 0 };

	make_settings(request, subject, mounted, &settings);
	if (mounted && mounted->mount_points->len > 0)
		task.mount_point = ((MountPoint *)mounted->mount_points->pdata[0])->target;
	if (!estimate_is_by_checksums(&task))
		task.fraction = fraction_of(request, &subject->identity, fd);
	disk_table_configure(disks, request->config, &settings);
	throttle = disk_table_throttle(disks, &settings, fd);
	task.throttle = throttle;
	if (!estimate_make(&task, &estimate, error))
		return false;
	if (atomic_load(&stop))
		return true;

	forecast = estimate_forecast(&estimate, &settings, budget_of(disks, &settings));
	estimate_table_add(request->table, request->options, &names, &estimate, &forecast);
	print_rest(request, &names, &estimate, &forecast);
	if (estimate.n_unreadable > 0)
		say_unreadable(request, &estimate);
	return true;
}

static void estimate_all(Request *request, const GPtrArray *subjects)
{
	if (options_are_for_programs(request->options))
		request->table = table_new_asked(&table_of_estimate, request->options);
	else if (subjects->len == 0 && request->status == EXIT_STATUS_DONE)
		message_print(mount_table_filesystems(request->mounts)->len == 0
				      ? "no btrfs or XFS filesystem is mounted"
				      : "no mounted btrfs or XFS filesystem can share blocks");

	for (guint i = 0; i < subjects->len && !atomic_load(&stop); i++) {
		g_autoptr(GError) error = NULL;

		/* In text, each filesystem has a table beside its curves. */
		if (!options_are_for_programs(request->options)) {
			g_clear_pointer(&request->table, table_free);
			request->table = table_new_asked(&table_of_estimate, request->options);
		}
		if (!estimate_subject(request, subjects->pdata[i], &error))
			fail(request, error);
	}
	if (options_are_for_programs(request->options) && !atomic_load(&stop))
		table_print(request->table);
}

ExitStatus verb_estimate(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) subjects = NULL;
	g_auto(Request) request = { .options = options };

	request.config = config_read_chosen(options->config, &error);
	request.mounts = request.config ? mount_table_read(NULL, NULL, NULL, &error) : NULL;
	if (!request.mounts)
		return message_fail_error(error);

	subjects = list_subjects(&request);
	thread_priority_lower();
	catch_signals();
	estimate_all(&request, subjects);
	if (stop_signal)
		message_print("estimate: interrupted");
	return stop_signal ? EXIT_STATUS_SIGNAL + (ExitStatus)stop_signal : request.status;
}
