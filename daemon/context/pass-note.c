/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/pass-note.h"

#include "daemon/context/pass-devices.h"
#include "kernel-ioctl/call/fd.h"

#include <fcntl.h>
#include <string.h>

/* How often a pass that found nothing is noted, if the note itself changes the filesystem. */
#define NOTHING_USEC (12 * 60 * 60 * (int64_t)G_USEC_PER_SEC)

bool pass_writes_to_itself(const Pass *pass)
{
	g_auto(Fd) fd = open(pass->settings->state_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autoptr(GError) ignored = NULL;
	FsIdentity identity;

	return fd < 0 || !fs_identity_read(fd, &identity, &ignored) ||
	       memcmp(identity.uuid, pass->filesystem->identity.uuid, FS_UUID_BYTES) == 0;
}

static bool put_skips(Pass *pass, GError **error)
{
	if (!hash_store_clear_skips(pass->store, error))
		return false;

	for (size_t reason = 0; reason < SKIP_REASONS; reason++) {
		const SkipEntry *entry = &pass->result->skips.entries[reason];
		SkipRecord record = {
			.reason = skip_reason_name(reason),
			.count = entry->count,
			.bytes = entry->bytes,
			.examples = (const char *const *)entry->examples,
		};

		if (entry->count > 0 && !hash_store_put_skip(pass->store, &record, error))
			return false;
	}

	return true;
}

/* Whether the pass learned or shared anything; if not, what was skipped before still is. */
static bool has_done_something(const PassResult *result)
{
	return result->files.read + result->files.set_aside + result->files.doubted +
		       result->files.gone + result->shared.runs >
	       0;
}

/* Whether to note that a pass found nothing. */
static bool is_worth_noting(Pass *pass, GError **error)
{
	g_autoptr(PassCursor) cursor = NULL;
	const PassRecord *last;

	if (!pass_writes_to_itself(pass))
		return true;

	cursor = pass_cursor_open(pass->store, error);
	return cursor && pass_cursor_next(cursor, &last, error) &&
	       (!last || pass->result->started_usec - last->started_usec >= NOTHING_USEC);
}

static void make_record(const Pass *pass, PassRecord *ret)
{
	const PassResult *result = pass->result;

	*ret = (PassRecord){
		.started_usec = result->started_usec,
		.ended_usec = g_get_real_time(),
		.outcome = result->outcome,
		.mount_point = pass->filesystem->mount_point,
		.files = result->files.seen,
		.objects_read = result->files.read,
		.finding_bytes = result->finding_bytes,
		.compare_bytes = result->compare_bytes,
		.wasted_bytes = result->wasted_bytes,
		.shared_bytes = result->shared.bytes,
		.freed_bytes = result->freed.bytes,
		.hole_bytes = result->freed.hole_bytes,
		.runs_shared = result->shared.runs,
		.runs_differed = result->shared.differed,
		.capped = result->shared.capped,
		.has_extents = result->found_by_checksums,
		.net_bytes = pass_result_net_bytes(result),
		.has_net = true,
		.used_bytes = result->freed.used_after_bytes,
		.pinned_bytes = pass_result_pinned_bytes(result),
		.deferred_bytes = result->deferred.bytes,
		.released_bytes = result->deferred.released_bytes,
		.deferred_written_bytes = result->deferred.written_bytes,
		.rewritten_bytes = result->rewritten.bytes,
		.metadata_delta_bytes = result->ledger.metadata_delta_bytes,
		.is_checked = result->ledger.is_checked,
		.drift_bytes = result->ledger.drift_bytes,
	};
}

/* Note a pass that found nothing, if there is room: the store is right without the note, too. */
static void note_nothing(Pass *pass, PassRecord *record)
{
	g_autoptr(GError) error = NULL;

	if (is_worth_noting(pass, &error) && !error &&
	    hash_store_put_pass(pass->store, record, &error))
		(void)!hash_store_commit(pass->store, &error);
	if (error)
		g_debug("a pass over %s is not in the history: %s", pass->filesystem->mount_point,
			error->message);
}

bool pass_note(Pass *pass, GError **error)
{
	PassRecord record;
	bool is_noted = has_done_something(pass->result) && !pass->settings->dry_run;

	if (pass_devices_fail(pass))
		return true;
	if (!pass_devices_note(pass, error))
		return false;
	make_record(pass, &record);
	if (is_noted &&
	    (!hash_store_put_pass(pass->store, &record, error) || !put_skips(pass, error)))
		return false;
	if (!hash_store_commit(pass->store, error))
		return false;

	if (!is_noted && !pass->settings->dry_run)
		note_nothing(pass, &record);
	return true;
}
