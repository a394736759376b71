/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * ThreadIo - what a thread made disks do so far (proc_pid_io(5), of the thread).
 *
 * Reads are counted when they are submitted, whoever asked for them on behalf of the thread: its
 * own, readahead, and what ioctls read for it, metadata included.  Writes are counted when pages
 * become dirty, be they written later by others.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t read_bytes;
	uint64_t write_bytes;
} ThreadIo;

/* Of the calling thread.  False where the kernel does not count it (CONFIG_TASK_IO_ACCOUNTING) or hides it. */
bool thread_io_read(ThreadIo *ret);

/* Of the thread @id (gettid(2)) of this process.  False also if it has ended. */
bool thread_io_read_of(int id, ThreadIo *ret);

/* The bytes that the calling thread had disks read, alone. */
bool thread_io_read_bytes(uint64_t *ret);
