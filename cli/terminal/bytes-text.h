/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Sizes outside of tables, rounded for users or, with --bytes, exact.
 *
 * Thread: any.
 */

/* "1.5 GiB", or "1610612736" */
char *bytes_text(uint64_t bytes, bool in_bytes);

/* "1.5 GiB", or "1610612736 B" */
char *bytes_text_with_unit(uint64_t bytes, bool in_bytes);
