/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * A fuzzer is one program with these two.  Built with clang and -Dfuzz=true libFuzzer drives it,
 * else driver.c: over the files given, or over a few thousand inputs that it makes from the seeds.
 *
 * A fault aborts.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Inputs to begin with, as texts; NULL-terminated. */
extern const char *const fuzz_seeds[];
