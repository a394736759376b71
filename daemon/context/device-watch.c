/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/device-watch.h"

#include "common/mounts/filesystem-hold.h"
#include "kernel-ioctl/btrfs/btrfs-info.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/machine/device-health.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <time.h>

#define WAIT_USEC (G_USEC_PER_SEC / 5)

struct DeviceWatch {
	/* Set at creation, never changed. */
	DeviceWatchOptions options;
	GPtrArray *disks; /* Disk: those that were there when the pass began */
	GThread *thread;
	bool may_be_read_only;

	uint64_t known_errors;
	int64_t looked_usec; /* 0: never */
};

static bool is_read_only(int fd)
{
	struct statvfs filesystem;

	return fd >= 0 && fstatvfs(fd, &filesystem) == 0 && filesystem.f_flag & ST_RDONLY;
}

/* Every long loop asks for the time, so it has to be cheap. */
static int64_t tick_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

DeviceWatch *device_watch_new(const DeviceWatchOptions *options)
{
	DeviceWatch *watch = g_new0(DeviceWatch, 1);

	watch->options = *options;
	if (!options->now_usec)
		watch->options.now_usec = tick_usec;
	watch->disks = disk_topology_find(options->topology, &options->location);
	watch->thread = g_thread_self();
	watch->may_be_read_only = !options->is_written || is_read_only(options->fd);
	watch->known_errors = device_watch_errors(watch);
	return watch;
}

void device_watch_free(DeviceWatch *watch)
{
	if (!watch)
		return;

	g_ptr_array_unref(watch->disks);
	g_free(watch);
}

void device_watch_set_known_errors(DeviceWatch *watch, uint64_t errors)
{
	watch->known_errors = errors;
}

static void read_health(const DeviceWatch *watch, DeviceHealth *ret)
{
	device_health_read(watch->options.topology, &watch->options.location, ret);
}

uint64_t device_watch_errors(const DeviceWatch *watch)
{
	g_auto(DeviceHealth) health = { 0 };

	read_health(watch, &health);
	return health.errors;
}

/* A shut-down XFS answers EIO to everything.  XFS shuts down when its log cannot be written, for instance. */
static bool is_shut_down(const DeviceWatch *watch)
{
	g_auto(Fd) fd = watch->options.fd < 0 ? -1
					      : openat(watch->options.fd, ".",
						       O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return watch->options.fd >= 0 && fd < 0 && errno == EIO;
}

static char *what_is_gone(const DeviceWatch *watch)
{
	for (size_t i = 0; i < watch->disks->len; i++) {
		const Disk *disk = watch->disks->pdata[i];

		if (!g_file_test(disk->stat_path, G_FILE_TEST_EXISTS))
			return g_strdup_printf("its disk %s is gone", disk->name);
	}

	if (is_shut_down(watch))
		return g_strdup("the filesystem was shut down");
	/* btrfs does so after an error. */
	if (!watch->may_be_read_only && is_read_only(watch->options.fd))
		return g_strdup("the filesystem became read-only");

	return NULL;
}

/*
 * btrfs counts the errors of its devices.  A file that cannot be read without such an error has a wrong checksum.
 * Its owner can cause that by changing a buffer during a direct write (before 6.15), or by an encoded write.
 * Nobody but a device causes errors of data on XFS, and nothing counts these for all kinds of devices.
 */
static bool are_too_many(const DeviceWatch *watch, uint64_t n_unreadable)
{
	return !watch->options.location.is_btrfs && n_unreadable >= DEVICE_WATCH_UNREADABLE;
}

static char *what_fails(const DeviceWatch *watch, const DeviceHealth *health, uint64_t n_unreadable)
{
	if (watch->options.runs_degraded)
		return NULL;
	if (health->lack)
		return g_strdup(health->lack);
	if (health->errors > watch->known_errors)
		return g_strdup_printf("its devices gave %" G_GUINT64_FORMAT " new errors",
				       health->errors - watch->known_errors);
	if (are_too_many(watch, n_unreadable))
		return g_strdup_printf("%" G_GUINT64_FORMAT " files could not be read",
				       n_unreadable);

	return NULL;
}

static char *find_trouble(const DeviceWatch *watch, const DeviceHealth *health,
			  uint64_t n_unreadable)
{
	char *gone = what_is_gone(watch);

	return gone ? gone : what_fails(watch, health, n_unreadable);
}

char *device_watch_find_trouble(const DeviceWatch *watch, uint64_t n_unreadable)
{
	g_auto(DeviceHealth) health = { 0 };

	read_health(watch, &health);
	return find_trouble(watch, &health, n_unreadable);
}

static bool is_due(const DeviceWatch *watch, uint64_t n_unreadable)
{
	return are_too_many(watch, n_unreadable) ||
	       watch->options.now_usec() - watch->looked_usec >= G_USEC_PER_SEC;
}

/* The maintenance that the pass waits for; NULL: none. */
static const char *what_goes_on(const DeviceWatch *watch, const DeviceHealth *health)
{
	const DeviceWatchOptions *options = &watch->options;

	if (health->array_work)
		return health->array_work;
	if (health->btrfs_work)
		return health->btrfs_work;

	return options->location.is_btrfs && options->fd >= 0 &&
			       btrfs_is_being_scrubbed(options->fd)
		       ? "a scrub"
		       : NULL;
}

/* Hold the threads that read for the pass. */
static void hold_others(const DeviceWatch *watch, bool is_held)
{
	if (watch->options.throttle)
		throttle_hold(watch->options.throttle, is_held);
}

static char *find_holder(const DeviceWatch *watch)
{
	g_autofree char *holder =
		watch->options.uuid ? filesystem_hold_holder(watch->options.uuid) : NULL;

	return holder ? g_strdup_printf("%s has put it on hold", holder) : NULL;
}

char *device_watch_look(DeviceWatch *watch, uint64_t n_unreadable, const atomic_bool *stop,
			bool *ret_is_on_hold)
{
	bool was_said = false;
	const char *work;
	char *trouble = NULL;

	*ret_is_on_hold = false;
	if (watch->thread != g_thread_self() || !is_due(watch, n_unreadable))
		return NULL;

	while (!atomic_load(stop)) {
		g_auto(DeviceHealth) health = { 0 };

		read_health(watch, &health);
		trouble = find_trouble(watch, &health, n_unreadable);
		if (!trouble) {
			trouble = find_holder(watch);
			*ret_is_on_hold = trouble;
		}
		work = trouble ? NULL : what_goes_on(watch, &health);
		if (!work)
			break;
		if (!was_said)
			g_message("%s: waiting for %s to end", watch->options.mount_point, work);
		was_said = true;
		hold_others(watch, true);
		g_usleep(WAIT_USEC);
	}
	hold_others(watch, false);

	watch->looked_usec = watch->options.now_usec();
	return trouble;
}
