/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-result.h"

/*
 * EstimateForecast - the cost of a first pass: time, reads, memory and space.
 *
 * Pure.  Thread: any.
 */
typedef enum {
	RATE_BUDGET,   /* the limit of the disks */
	RATE_MEASURED, /* the rate at which the estimate read */
	RATE_ASSUMED,
} RateOrigin;

typedef struct {
	uint64_t read_bytes; /* to find equal data, and to compare it */
	uint64_t rate_bytes; /* per second */
	RateOrigin rate_origin;
	int64_t usec;
	uint64_t memory_bytes; /* for sorting, at most */
	uint64_t store_bytes;
	uint64_t metadata_bytes; /* additional metadata of the filesystem */
} EstimateForecast;

const char *rate_origin_name(RateOrigin origin);

/* The size of a store with @n_anchors and @n_files. */
uint64_t estimate_store_bytes(uint64_t n_anchors, uint64_t n_files);

/* @budget_bytes is the limit of the disks per second; 0: none. */
EstimateForecast estimate_forecast(const Estimate *estimate, const Settings *settings,
				   uint64_t budget_bytes);
