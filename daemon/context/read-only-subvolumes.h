/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

/*
 * ReadOnlySubvolumes - how --read-only-snapshots treats the read-only subvolumes and snapshots of a btrfs
 * filesystem: whether files in them may be targets, and sources.
 *
 * Each subvolume is examined once a pass.  One that becomes read-only meanwhile counts as it was.
 *
 * Thread: the filesystem's worker.
 */
typedef struct ReadOnlySubvolumes ReadOnlySubvolumes;

ReadOnlySubvolumes *read_only_subvolumes_new(SnapshotPolicy policy);
void read_only_subvolumes_free(ReadOnlySubvolumes *subvolumes);

/*
 * Examine all subvolumes of the filesystem that @fd lies on (needs CAP_SYS_ADMIN), now and when asked about a new
 * one.  Does nothing with a policy that treats all alike.
 */
bool read_only_subvolumes_read(ReadOnlySubvolumes *subvolumes, int fd, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Whether the subvolume is read-only, as far as that is known and the policy asks for it. */
bool read_only_subvolumes_has(ReadOnlySubvolumes *subvolumes, uint64_t id);

/* Look at the subvolume @id, which @fd lies in. */
bool read_only_subvolumes_meet(ReadOnlySubvolumes *subvolumes, uint64_t id, int fd, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/*
 * A subvolume that was never examined may be both.  But if all were examined, it is gone or could not be examined,
 * and is skipped.
 */
bool read_only_subvolumes_may_be_target(ReadOnlySubvolumes *subvolumes, uint64_t id);
bool read_only_subvolumes_may_be_source(ReadOnlySubvolumes *subvolumes, uint64_t id);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReadOnlySubvolumes, read_only_subvolumes_free)
