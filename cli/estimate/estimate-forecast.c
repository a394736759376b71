/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/estimate/estimate-forecast.h"

#include <glib.h>

/* Measured on stores of several sizes; see docs/benchmarks.md. */
#define ANCHOR_BYTES    9
#define OBJECT_BYTES    120
#define STORE_MIN_BYTES (UINT64_C(160) << 10)

/* The size of an extent item that a file gets: on btrfs as in SharingCost, on XFS in its trees. */
#define BTRFS_ITEM_BYTES 160
#define XFS_ITEM_BYTES   48

/* The assumed rate of disks without a limit of which nothing was read. */
#define ASSUMED_RATE_BYTES (UINT64_C(100) << 20)

/* A rate measured on less data is not meaningful. */
#define MEASURED_MIN_BYTES (UINT64_C(64) << 20)

const char *rate_origin_name(RateOrigin origin)
{
	static const char *const names[] = {
		[RATE_BUDGET] = "budget",
		[RATE_MEASURED] = "measured",
		[RATE_ASSUMED] = "assumed",
	};

	return names[origin];
}

uint64_t estimate_store_bytes(uint64_t n_anchors, uint64_t n_files)
{
	return STORE_MIN_BYTES + n_anchors * ANCHOR_BYTES + n_files * OBJECT_BYTES;
}

static void set_rate(EstimateForecast *forecast, const Estimate *estimate, uint64_t budget_bytes)
{
	bool is_measured = !estimate->by_checksums && estimate->usec > 0 &&
			   estimate->read_bytes >= MEASURED_MIN_BYTES;

	forecast->rate_origin = budget_bytes > 0 ? RATE_BUDGET
				: is_measured    ? RATE_MEASURED
						 : RATE_ASSUMED;
	forecast->rate_bytes = budget_bytes > 0 ? budget_bytes
			       : is_measured
				       ? MAX((uint64_t)((double)estimate->read_bytes *
							G_USEC_PER_SEC / (double)estimate->usec),
					     1)
				       : ASSUMED_RATE_BYTES;
}

EstimateForecast estimate_forecast(const Estimate *estimate, const Settings *settings,
				   uint64_t budget_bytes)
{
	uint64_t freed_bytes = estimate->pass.bytes;
	/* A sample is scaled; checksums are all read. */
	uint64_t finding_bytes =
		estimate->by_checksums ? estimate->read_bytes : estimate->data_bytes;
	EstimateForecast forecast = {
		.read_bytes = finding_bytes + 2 * (freed_bytes + estimate->deferred_bytes),
		.memory_bytes = settings->memory_bytes,
		.store_bytes = estimate->store_bytes,
		.metadata_bytes = estimate->n_runs *
				  (estimate->by_checksums ? BTRFS_ITEM_BYTES : XFS_ITEM_BYTES),
	};

	set_rate(&forecast, estimate, budget_bytes);
	forecast.usec = (int64_t)((double)forecast.read_bytes / (double)forecast.rate_bytes *
				  (double)G_USEC_PER_SEC);
	return forecast;
}
