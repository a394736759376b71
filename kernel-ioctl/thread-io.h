/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * What the calling thread made disks read so far, in bytes: its own reads, readahead on its behalf
 * and what ioctls read for it, metadata included (read_bytes of proc_pid_io(5), of the thread).
 * False where the kernel does not count it (CONFIG_TASK_IO_ACCOUNTING) or hides it.
 *
 * Thread: any.
 */
bool thread_io_read_bytes(uint64_t *ret);
