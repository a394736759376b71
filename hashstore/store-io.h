/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

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

/* Between the two the calling thread works on a file of a store; begin's result goes to end. */
uint64_t store_io_begin(void);
void store_io_end(uint64_t begun);

/* Have that which SQLite reads and writes counted, in all threads.  Once is enough. */
void store_io_watch_sqlite(void);
