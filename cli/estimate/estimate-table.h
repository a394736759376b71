/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-forecast.h"
#include "cli/terminal/table.h"

/*
 * EstimateTable - estimates as rows, one per filesystem.  Their curves are tables of their own.
 *
 * Thread: main.
 */

/* The filesystem of an estimate. */
typedef struct {
	const char *mount_point;
	const char *uuid;
	const char *kind;
} EstimateSubject;

extern const TableKind table_of_estimate;

void estimate_table_add(Table *table, const Options *options, const EstimateSubject *subject,
			const Estimate *estimate, const EstimateForecast *forecast);

/* Print the curves and the forecast as text. */
void estimate_table_print_curves(const Options *options, const EstimateSubject *subject,
				 const Estimate *estimate, const EstimateForecast *forecast);

/* Draw what fixed blocks of each size would free. */
void estimate_table_draw(const EstimateSubject *subject, const Estimate *estimate);
