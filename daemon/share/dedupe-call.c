/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/dedupe-call.h"

#define SHORT_BYTES   FILE_READER_PIECE_BYTES
#define SCRATCH_BYTES (UINT64_C(128) << 10)
#define AWAIT_TRIES   3

/*
 * A call of 1 MiB takes a third of a millisecond if its data is in memory.  The pause after it lets waiting
 * processes take the lock.  Without one, the next call takes it before they wake up.
 */
#define PAUSE_USEC 100

static DedupeSource source_of(const Filesystem *filesystem, const DedupeCall *call)
{
	const FsIdentity *identity = &filesystem->identity;

	return (DedupeSource){
		.fd = call->source_fd,
		.offset_bytes = call->source_offset,
		.hint_block_bytes = identity->kind == FS_KIND_XFS ? identity->block_bytes : 0,
		.relay = call->relay,
	};
}

bool dedupe_call_needs_relay(const Filesystem *filesystem, const DedupeCall *call)
{
	DedupeSource source = source_of(filesystem, call);

	return dedupe_range_needs_relay(&source, file_reader_fd(call->target), call->target_offset);
}

static DedupeTarget call_once(const Pass *pass, const DedupeCall *call, DedupeCounts *counts)
{
	DedupeSource source = source_of(pass->filesystem, call);
	DedupeTarget target = {
		.fd = file_reader_fd(call->target),
		.offset_bytes = call->target_offset,
	};

	counts->calls +=
		dedupe_range(&source, call->length, &target, 1, DEDUPE_ROUND_BYTES, pass->stop);
	counts->restored_bytes +=
		file_reader_restore(call->target, target.offset_bytes, call->length);
	return target;
}

/* Whether others may have to wait for the call.  A short one is over before it matters. */
static bool is_in_the_way(const Pass *pass, const DedupeCall *call)
{
	bool only_writers_wait = pass->filesystem->identity.kind == FS_KIND_BTRFS;

	return call->length > SHORT_BYTES &&
	       (file_reader_has_other_users(call->target, only_writers_wait) ||
		(call->source && !call->source_is_ours &&
		 file_reader_has_other_users(call->source, only_writers_wait)));
}

/*
 * Read the range into memory and wait until it is there.  If this fails, the kernel reports the error of the read.
 */
static void await(FileReader *reader, uint64_t offset, uint64_t length, void *scratch)
{
	if (file_reader_fetch(reader, offset, length) != READ_DONE)
		return;
	for (uint64_t done = 0; done < length; done += SCRATCH_BYTES)
		if (file_reader_read(reader, offset + done, MIN(length - done, SCRATCH_BYTES),
				     scratch) != READ_DONE)
			return;
}

/*
 * Whether all of it is still in memory.  If not, the kernel would read it block by block under its locks, and
 * nothing could stop it.
 */
static bool is_in_memory(const DedupeCall *call)
{
	return file_reader_is_cached(call->target, call->target_offset, call->length) &&
	       (!call->source ||
		file_reader_is_cached(call->source, call->source_offset, call->length));
}

/* Reading one range may evict the other, so both are awaited again. */
static void await_both(const Pass *pass, const DedupeCall *piece, void *scratch)
{
	for (unsigned i = 0; i < AWAIT_TRIES && pass_pay(pass); i++) {
		await(piece->target, piece->target_offset, piece->length, scratch);
		if (piece->source)
			await(piece->source, piece->source_offset, piece->length, scratch);
		if (is_in_memory(piece))
			return;
	}
}

static DedupeTarget call_in_pieces(const Pass *pass, const DedupeCall *call, DedupeCounts *counts)
{
	g_autofree void *scratch = g_malloc(SCRATCH_BYTES);
	DedupeTarget whole = { .outcome = DEDUPE_NOT_DONE };
	uint64_t done = 0;

	while (done < call->length && pass_pay(pass)) {
		uint64_t length = MIN(call->length - done, SHORT_BYTES);
		DedupeCall part = *call;
		DedupeTarget piece;

		part.target_offset += done;
		part.source_offset += done;
		part.length = length;
		await_both(pass, &part, scratch);
		if (!pass_pay(pass))
			break;
		piece = call_once(pass, &part, counts);
		whole.outcome = piece.outcome;
		whole.error = piece.error;
		whole.same_bytes += piece.same_bytes;
		if (piece.outcome != DEDUPE_SAME)
			return whole;

		done += length;
		g_usleep(PAUSE_USEC);
	}

	if (done < call->length)
		whole.outcome = DEDUPE_NOT_DONE;
	return whole;
}

/*
 * Halve the windows if data was evicted, since it is read twice then.  Otherwise let them grow by a piece.  They
 * are whole pieces, because the kernel refuses parts of blocks.
 */
static void fit_window(Pass *pass, uint64_t length, bool was_in_memory)
{
	uint64_t window = atomic_load(&pass->window_bytes);

	if (!was_in_memory)
		window = MAX(window / 2 / SHORT_BYTES * SHORT_BYTES, SHORT_BYTES);
	else if (length >= window)
		window = MIN(window + SHORT_BYTES, DEDUPE_ROUND_BYTES);
	/* If several threads fit it at a time, one of them counts. */
	atomic_store(&pass->window_bytes, window);
}

DedupeTarget dedupe_call_make(Pass *pass, const DedupeCall *call, DedupeCounts *counts)
{
	bool is_others = is_in_the_way(pass, call);
	bool was_in_memory = is_in_memory(call);

	fit_window(pass, call->length, was_in_memory);
	if (!is_others && was_in_memory)
		return call_once(pass, call, counts);

	counts->short_rounds += is_others;
	return call_in_pieces(pass, call, counts);
}

void dedupe_counts_note(const DedupeCounts *counts, PassResult *result)
{
	result->shared.calls += counts->calls;
	result->shared.short_rounds += counts->short_rounds;
	result->restored_bytes += counts->restored_bytes;
}
