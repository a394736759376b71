/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/file/dedupe-range.h"

#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/call/system-call.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest block size of btrfs and XFS on common machines.  A call for less costs too much. */
#define ROUND_GRAIN_BYTES (UINT64_C(64) << 10)
/* The kernel shortens a longer request silently (fs/remap_range.c). */
#define REQUEST_MAX_BYTES (UINT64_C(1) << 30)

typedef union {
	struct file_dedupe_range request;
	uint8_t bytes[sizeof(struct file_dedupe_range) +
		      DEDUPE_MAX_TARGETS * sizeof(struct file_dedupe_range_info)];
} Request;

G_STATIC_ASSERT(sizeof(Request) <= 4096);

struct RelayFile {
	Fd fd;
	uint32_t block_bytes;
};

/* One dedupe_range(): its parameters, and its progress over the rounds. */
typedef struct {
	const DedupeSource *source;
	DedupeTarget *targets;
	uint8_t live[DEDUPE_MAX_TARGETS]; /* indexes of the targets that are still in */
	unsigned n_live;
	uint64_t done_bytes;
	unsigned n_calls;
	const atomic_bool *stop;
} Dedupe;

RelayFile *relay_file_new_take(int fd, uint32_t block_bytes)
{
	RelayFile *relay = g_new0(RelayFile, 1);

	relay->fd = fd;
	relay->block_bytes = block_bytes;
	return relay;
}

void relay_file_free(RelayFile *relay)
{
	if (!relay)
		return;

	fd_close(&relay->fd);
	g_free(relay);
}

static DedupeOutcome outcome_of(int error)
{
	switch (error) {
	case EINVAL:
		return DEDUPE_INVALID;
	case EPERM:
	case EACCES:
		return DEDUPE_DENIED;
	case EROFS:
		return DEDUPE_READ_ONLY;
	case EAGAIN:
	case EBUSY:
	case EINTR:
		return DEDUPE_BUSY;
	case ETXTBSY:
		return DEDUPE_SWAP_FILE;
	case ENOSPC:
	case EDQUOT:
		return DEDUPE_NO_SPACE;
	case EOPNOTSUPP:
	case EXDEV:
	case ENOTTY:
	case EISDIR:
		return DEDUPE_UNSUPPORTED;
	case EIO:
	case EUCLEAN: /* the filesystems' EFSCORRUPTED */
	case EBADMSG: /* the filesystems' EFSBADCRC */
		return DEDUPE_UNREADABLE;
	default:
		return DEDUPE_FAILED;
	}
}

static void target_fail(DedupeTarget *target, int error)
{
	target->outcome = outcome_of(error);
	target->error = error;
}

/* Returns true if the target takes part in the next round. */
static bool target_take_status(DedupeTarget *target, int32_t status, uint64_t length)
{
	if (status == FILE_DEDUPE_RANGE_SAME) {
		target->outcome = DEDUPE_SAME;
		target->same_bytes += length;
		return true;
	}

	if (status == FILE_DEDUPE_RANGE_DIFFERS)
		target->outcome = DEDUPE_DIFFERS;
	else
		target_fail(target, status < 0 ? -status : EPROTO);
	return false;
}

static bool dedupe_is_stopped(const Dedupe *dedupe)
{
	return dedupe->stop && atomic_load(dedupe->stop);
}

static void dedupe_fill_request(const Dedupe *dedupe, uint64_t source_offset, uint64_t length,
				Request *ret)
{
	/* Clear everything: valgrind does not know that the kernel writes the array at the end. */
	memset(ret, 0, sizeof(*ret));
	ret->request.src_offset = source_offset;
	ret->request.src_length = length;
	ret->request.dest_count = (uint16_t)dedupe->n_live;

	for (unsigned i = 0; i < dedupe->n_live; i++) {
		const DedupeTarget *target = &dedupe->targets[dedupe->live[i]];

		ret->request.info[i].dest_fd = target->fd;
		ret->request.info[i].dest_offset = target->offset_bytes + dedupe->done_bytes;
	}
}

/* Returns 0, or the errno value if the whole call failed. */
static int dedupe_call(Dedupe *dedupe, int source_fd, Request *request)
{
	int result;

	do {
		result = ioctl(source_fd, FIDEDUPERANGE, &request->request);
		dedupe->n_calls++;
	} while (result < 0 && errno == EINTR && !dedupe_is_stopped(dedupe));

	return result < 0 ? errno : 0;
}

/* Remove targets that failed, by @error or by their own status, from later rounds. */
static void dedupe_take_statuses(Dedupe *dedupe, const Request *request, int error, uint64_t length)
{
	unsigned n_live = 0;

	for (unsigned i = 0; i < dedupe->n_live; i++) {
		DedupeTarget *target = &dedupe->targets[dedupe->live[i]];

		if (error)
			target_fail(target, error);
		else if (target_take_status(target, request->request.info[i].status, length))
			dedupe->live[n_live++] = dedupe->live[i];
	}

	dedupe->n_live = n_live;
	dedupe->done_bytes += length;
}

static void dedupe_round(Dedupe *dedupe, uint64_t length)
{
	const DedupeSource *source = dedupe->source;
	Request request;
	int error;

	dedupe_fill_request(dedupe, source->offset_bytes + dedupe->done_bytes, length, &request);
	error = dedupe_call(dedupe, source->fd, &request);
	dedupe_take_statuses(dedupe, &request, error, length);
}

/*
 * Clone the first @length bytes of @source_fd, at most a block.  A shorter @length must be the size of the source.
 * Returns 0 or an errno value.
 */
static int relay_clone(RelayFile *relay, int source_fd, uint64_t length)
{
	struct file_clone_range range = {
		.src_fd = source_fd,
		.src_length = length,
		.dest_offset = relay->block_bytes,
	};

	return system_call_ioctl(relay->fd, FICLONERANGE, &range) < 0 ? errno : 0;
}

/* Drop the clone, so that the relay holds no reference to the source's block. */
static void relay_empty(RelayFile *relay)
{
	/* A clone that cannot be dropped now goes with the file. */
	while (ftruncate(relay->fd, 0) != 0 && errno == EINTR)
		;
}

static void dedupe_round_from_relay(Dedupe *dedupe, uint64_t length)
{
	RelayFile *relay = dedupe->source->relay;
	Request request;
	int error;

	dedupe_fill_request(dedupe, relay->block_bytes, length, &request);
	error = relay_clone(relay, dedupe->source->fd, length);
	if (!error)
		error = dedupe_call(dedupe, relay->fd, &request);
	dedupe_take_statuses(dedupe, &request, error, length);
	relay_empty(relay);
}

static bool may_copy_hint(const DedupeSource *source, uint64_t target_offset)
{
	return source->hint_block_bytes && source->offset_bytes == 0 && target_offset == 0;
}

static bool dedupe_may_copy_hint(const Dedupe *dedupe)
{
	for (unsigned i = 0; i < dedupe->n_live; i++)
		if (may_copy_hint(dedupe->source, dedupe->targets[i].offset_bytes))
			return true;

	return false;
}

/* The source has no hint, and only root or the target's owner could set one. */
static bool source_is_harmless(int source_fd, const struct stat *target)
{
	struct fsxattr attributes;
	struct stat source;

	return fstat(source_fd, &source) == 0 &&
	       (source.st_uid == target->st_uid || source.st_uid == 0) &&
	       ioctl(source_fd, FS_IOC_FSGETXATTR, &attributes) == 0 &&
	       !(attributes.fsx_xflags & FS_XFLAG_COWEXTSIZE);
}

bool dedupe_range_needs_relay(const DedupeSource *source, int target_fd, uint64_t target_offset)
{
	struct stat target;

	if (!may_copy_hint(source, target_offset))
		return false;
	if (fstat(target_fd, &target) != 0)
		return true;

	return (uint64_t)target.st_size <= source->hint_block_bytes &&
	       !source_is_harmless(source->fd, &target);
}

/* Returns true if any target needs the relay.  Fails targets that need it if there is no relay. */
static bool dedupe_needs_relay(Dedupe *dedupe)
{
	bool any = false;
	unsigned n_live = 0;

	for (unsigned i = 0; i < dedupe->n_live; i++) {
		DedupeTarget *target = &dedupe->targets[dedupe->live[i]];
		bool needs_relay =
			dedupe_range_needs_relay(dedupe->source, target->fd, target->offset_bytes);

		/* It needed none when the caller asked. */
		if (needs_relay && !dedupe->source->relay) {
			target_fail(target, EAGAIN);
			continue;
		}
		any |= needs_relay;
		dedupe->live[n_live++] = dedupe->live[i];
	}

	dedupe->n_live = n_live;
	return any;
}

/* Deduplicate the first block alone: a longer request could copy a hint. */
static void dedupe_first_block(Dedupe *dedupe, uint64_t length)
{
	bool from_relay = dedupe_needs_relay(dedupe);

	length = MIN(length, dedupe->source->hint_block_bytes);
	if (from_relay)
		dedupe_round_from_relay(dedupe, length);
	else if (dedupe->n_live)
		dedupe_round(dedupe, length);
}

static uint64_t round_length(uint64_t round_bytes, unsigned n_live, uint64_t left_bytes)
{
	uint64_t length = MIN(round_bytes, REQUEST_MAX_BYTES) / n_live;

	length -= length % ROUND_GRAIN_BYTES;
	return MIN(MAX(length, ROUND_GRAIN_BYTES), left_bytes);
}

unsigned dedupe_range(const DedupeSource *source, uint64_t length, DedupeTarget *targets,
		      size_t n_targets, uint64_t round_bytes, const atomic_bool *stop)
{
	Dedupe dedupe = {
		.source = source,
		.targets = targets,
		.n_live = (unsigned)n_targets,
		.stop = stop,
	};

	g_assert(n_targets > 0 && n_targets <= DEDUPE_MAX_TARGETS);

	for (unsigned i = 0; i < n_targets; i++) {
		dedupe.live[i] = (uint8_t)i;
		targets[i].outcome = DEDUPE_NOT_DONE;
		targets[i].error = 0;
		targets[i].same_bytes = 0;
	}

	if (dedupe_may_copy_hint(&dedupe) && length > 0 && !dedupe_is_stopped(&dedupe))
		dedupe_first_block(&dedupe, length);
	while (dedupe.n_live && dedupe.done_bytes < length && !dedupe_is_stopped(&dedupe))
		dedupe_round(&dedupe, round_length(round_bytes ? round_bytes : DEDUPE_ROUND_BYTES,
						   dedupe.n_live, length - dedupe.done_bytes));

	return dedupe.n_calls;
}
