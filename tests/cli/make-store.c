/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/hash-store.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * make-store DIR UUID KIND MOUNT PASSES [EXAMPLE...]
 *
 * Makes a store with two objects and so many passes, the Nth of which began at N days since 1970,
 * took N seconds and freed N MiB; its outcome goes through complete, interrupted, failed.  With
 * examples, a file of 8 MiB was left alone for each.
 */
#define MIB         UINT64_C(1048576)
#define SECOND_USEC INT64_C(1000000)
#define DAY_USEC    (86400 * SECOND_USEC)

static bool put_objects(HashStore *store, GError **error)
{
	for (unsigned i = 0; i < 2; i++) {
		Object object = {
			.inode = 256 + i,
			.size_bytes = MIB,
			.state = OBJECT_DONE,
			.parent = 256,
			.name = (const uint8_t *)"a",
			.name_bytes = 1,
		};

		if (!hash_store_new_object(store, &object.id, error) ||
		    !hash_store_put(store, &object, error))
			return false;
	}

	return true;
}

static bool put_pass(HashStore *store, int64_t n, char *mount_point, GError **error)
{
	PassRecord pass = {
		.started_usec = n * DAY_USEC,
		.ended_usec = n * (DAY_USEC + SECOND_USEC),
		.outcome = (PassOutcome)((n - 1) % 3),
		.mount_point = mount_point,
		.files = 100 + (uint64_t)n,
		.objects_read = 10,
		.finding_bytes = 5 * MIB,
		.compare_bytes = 4 * MIB,
		.shared_bytes = 3 * MIB,
		.freed_bytes = (uint64_t)n * MIB,
		.hole_bytes = MIB / 2,
		.runs_shared = 7,
		.runs_differed = 1,
		.capped = 2,
		.pinned_bytes = 2 * MIB,
		.rewritten_bytes = 4096,
		.metadata_delta_bytes = -16384,
		.is_checked = n % 2 == 1,
		.drift_bytes = -n,
		.used_bytes = n > 1 ? (uint64_t)n * 100 * MIB : 0,
	};

	return hash_store_put_pass(store, &pass, error);
}

static bool put_skips(HashStore *store, char **examples, GError **error)
{
	SkipRecord skip = {
		.reason = "leased",
		.count = g_strv_length(examples),
		.bytes = g_strv_length(examples) * 8 * MIB,
		.examples = (const char *const *)examples,
	};

	return !examples[0] || hash_store_put_skip(store, &skip, error);
}

static bool fill(HashStore *store, char **argv, GError **error)
{
	if (!put_objects(store, error))
		return false;
	for (int64_t n = 1; n <= g_ascii_strtoll(argv[5], NULL, 10); n++)
		if (!put_pass(store, n, argv[4], error))
			return false;

	return put_skips(store, argv + 6, error) && hash_store_commit(store, error);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	if (argc < 6) {
		fprintf(stderr, "make-store DIR UUID KIND MOUNT PASSES [EXAMPLE...]\n");
		return 2;
	}

	const HashStoreOptions options = {
		.directory = argv[1],
		.uuid = argv[2],
		.kind = argv[3],
		.block_bytes = 4096,
		.anchor_blocks = 4,
		.window_anchors = 16,
		.memory_bytes = MIB,
	};
	g_autoptr(HashStore) store = hash_store_open(&options, &error);

	if (!store || !fill(store, argv, &error)) {
		fprintf(stderr, "make-store: %s\n", error->message);
		return 1;
	}
	return 0;
}
