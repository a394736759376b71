/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/pass-devices.h"

#include "kernel-ioctl/machine/disk-topology.h"

/* The number of errors of btrfs devices when the last pass ended. */
#define ERRORS_NOTE "device-errors"

bool pass_devices_begin(Pass *pass, GError **error)
{
	const Filesystem *filesystem = pass->filesystem;
	DeviceWatchOptions options = {
		.topology = disk_topology_system(),
		.fd = filesystem->fd,
		.mount_point = filesystem->mount_point,
		.uuid = filesystem->uuid,
		.throttle = pass->throttle,
		.is_written = !pass->settings->dry_run,
		.runs_degraded = pass->settings->degraded == HARDSHIP_RUN,
	};
	g_autofree char *known = NULL;

	if (!fs_location_read(filesystem->fd, &options.location, NULL))
		return true;
	if (!hash_store_get_note(pass->store, ERRORS_NOTE, &known, error))
		return false;

	pass->watch = device_watch_new(&options);
	if (known)
		device_watch_set_known_errors(pass->watch, g_ascii_strtoull(known, NULL, 10));
	return true;
}

/* Files that could not be read in this pass. */
static uint64_t n_unreadable(const Pass *pass)
{
	uint64_t n_all = pass->result->skips.entries[SKIP_UNREADABLE].count;

	/* Known unreadable files may be counted a moment before they are skipped. */
	return n_all - MIN(n_all, pass->result->n_known_unreadable);
}

/* End the pass for @trouble, which is taken over; NULL: nothing fails. */
static void end_if_failing(const Pass *pass, char *trouble)
{
	PassResult *result = pass->result;

	if (!trouble)
		return;

	if (!result->is_disk_failing)
		g_warning("%s: the pass ends, as %s", pass->filesystem->mount_point, trouble);
	g_free(result->stopped_reason);
	result->stopped_reason = trouble;
	result->is_disk_failing = true;
	atomic_store(pass->stop, true);
}

/* End the pass because somebody holds the filesystem; @holder, which is taken over, says who. */
static void end_for_hold(const Pass *pass, char *holder)
{
	PassResult *result = pass->result;

	g_info("%s: the pass ends, as %s", pass->filesystem->mount_point, holder);
	g_free(result->stopped_reason);
	result->stopped_reason = holder;
	result->is_on_hold = true;
	atomic_store(pass->stop, true);
}

void pass_devices_look(const Pass *pass)
{
	bool is_on_hold;
	char *why = device_watch_look(pass->watch, n_unreadable(pass), pass->stop, &is_on_hold);

	if (is_on_hold)
		end_for_hold(pass, why);
	else
		end_if_failing(pass, why);
}

bool pass_devices_fail(const Pass *pass)
{
	if (pass->watch && !pass->result->is_disk_failing)
		end_if_failing(pass, device_watch_find_trouble(pass->watch, n_unreadable(pass)));

	return pass->result->is_disk_failing;
}

bool pass_devices_explain(const Pass *pass, GError **error)
{
	if (!pass_devices_fail(pass))
		return false;

	g_info("%s: %s", pass->filesystem->mount_point, (*error)->message);
	g_clear_error(error);
	return true;
}

bool pass_devices_note(Pass *pass, GError **error)
{
	g_autofree char *known = NULL;
	g_autofree char *now = NULL;

	if (!pass->watch || pass->settings->dry_run ||
	    pass->filesystem->identity.kind != FS_KIND_BTRFS)
		return true;
	if (!hash_store_get_note(pass->store, ERRORS_NOTE, &known, error))
		return false;

	now = g_strdup_printf("%" G_GUINT64_FORMAT, device_watch_errors(pass->watch));
	return g_strcmp0(known, now) == 0 ||
	       hash_store_set_note(pass->store, ERRORS_NOTE, now, error);
}
