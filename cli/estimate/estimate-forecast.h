/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-result.h"

/*
 * EstimateForecast - what a first pass would take: time, reads, memory, room.
 *
 * Pure.  Thread: any.
 */
typedef enum {
	RATE_BUDGET,   /* what the disks may be asked for */
	RATE_MEASURED, /* what the estimate read in a second */
	RATE_ASSUMED,
} RateOrigin;

typedef struct {
	uint64_t read_bytes; /* to find equal data, and to compare it */
	uint64_t rate_bytes; /* per second */
	RateOrigin rate_origin;
	int64_t usec;
	uint64_t memory_bytes; /* for sorting, at most */
	uint64_t store_bytes;
	uint64_t metadata_bytes; /* that the filesystem has to keep besides */
} EstimateForecast;

const char *rate_origin_name(RateOrigin origin);

/* What a store takes with so many anchors. */
uint64_t estimate_store_bytes(uint64_t n_anchors, uint64_t n_files);

/* @budget_bytes is what the disks may be asked for in a second, 0: whatever they can. */
EstimateForecast estimate_forecast(const Estimate *estimate, const Settings *settings,
				   uint64_t budget_bytes);
