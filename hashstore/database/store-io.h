/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * StoreIo - the disk I/O of a thread for stores: SQLite's reads and writes, and those of spilled sorts.
 *
 * Bytes are those of the kernel's accounting (getrusage(2)): cached data does not count.  A caller that knows
 * all I/O of the thread can thus separate this part, which may go to another disk.
 *
 * Thread: any.
 */
typedef struct StoreIo StoreIo;

/* The StoreIo of the calling thread; others may read it while the thread lives. */
const StoreIo *store_io_of_thread(void);

/* Bytes read and written so far. */
uint64_t store_io_bytes(const StoreIo *io);

/* pread(2), write(2) and pwrite(2) on a file of a store, counted. */
ssize_t store_io_pread(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t store_io_write(int fd, const void *buffer, size_t bytes);
ssize_t store_io_pwrite(int fd, const void *buffer, size_t bytes, off_t offset);

/* Count SQLite's reads and writes, in all threads.  Further calls do nothing. */
void store_io_watch_sqlite(void);
