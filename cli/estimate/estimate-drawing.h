/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/estimate/estimate-table.h"

/*
 * Draw on standard output what fixed blocks of each size would free.
 *
 * Thread: main.
 */
void estimate_drawing_print(const EstimateSubject *subject, const Estimate *estimate);
