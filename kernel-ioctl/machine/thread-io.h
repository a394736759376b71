/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * ThreadIo - the disk I/O that a thread caused so far (proc_pid_io(5), of the thread).
 *
 * The kernel counts reads when they are submitted: the thread's own, readahead, and reads by its ioctls,
 * metadata included.  It counts writes when pages become dirty, even if another thread writes them out later.
 *
 * Thread: any.
 */
typedef struct {
	uint64_t read_bytes;
	uint64_t write_bytes;
} ThreadIo;

/* I/O of the calling thread.  False if the kernel lacks CONFIG_TASK_IO_ACCOUNTING or hides the counters. */
bool thread_io_read(ThreadIo *ret);

/* I/O of the thread @id (gettid(2)) of this process.  Also false if the thread has ended. */
bool thread_io_read_of(int id, ThreadIo *ret);

/* The bytes read by the calling thread; 0 if thread_io_read() fails. */
uint64_t thread_io_read_bytes(void);
