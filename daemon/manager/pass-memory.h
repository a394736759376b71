/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/config/settings.h"

/*
 * PassMemory - how many passes of the service may run at a time, by the memory that they take.
 *
 * A pass counts as twice what it may use for sorting: over 10 TiB, it took 114 MiB of 2 * 64 (docs/benchmarks.md,
 * Terabytes).  All passes together get a quarter of the machine's memory, and three quarters of the limit of a control
 * group around the service: its unit has one.  One pass may always run.
 *
 * Thread: main.
 */
typedef struct PassMemory PassMemory;

/* For passes of this process.  @root is "/", except in tests. */
PassMemory *pass_memory_new(const char *root);
void pass_memory_free(PassMemory *memory);

/* Whether a pass with @settings may begin.  @memory may be NULL: then any may. */
bool pass_memory_has_room(const PassMemory *memory, const Settings *settings);

/* A pass begins.  Returns the bytes to be given back when it ends. */
uint64_t pass_memory_take(PassMemory *memory, const Settings *settings);
void pass_memory_give_back(PassMemory *memory, uint64_t bytes);
