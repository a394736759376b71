/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * StoreIo - what a thread made disks do for stores: what SQLite reads and writes, and what is sorted
 * beside it in files.
 *
 * Bytes are those of the kernel's accounting of the thread (getrusage(2)): what was in memory counts
 * nothing.  So whoever knows all that a thread did can tell this part of it, which may lie on another
 * disk.
 *
 * Thread: any.
 */
typedef struct StoreIo StoreIo;

/* That of the calling thread; others may ask it for as long as the thread lives. */
const StoreIo *store_io_of_thread(void);

/* Read and written so far. */
uint64_t store_io_bytes(const StoreIo *io);

/* pread(2), write(2) and pwrite(2) of a file that a store has, counted. */
ssize_t store_io_pread(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t store_io_write(int fd, const void *buffer, size_t bytes);
ssize_t store_io_pwrite(int fd, const void *buffer, size_t bytes, off_t offset);

/* Have that which SQLite reads and writes counted, in all threads.  Once is enough. */
void store_io_watch_sqlite(void);
