/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hashstore/database/store-io.h"

#include <glib.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

/* The unit of getrusage(2). */
#define SECTOR_BYTES 512

struct StoreIo {
	atomic_uint_least64_t bytes; /* only its thread writes it */
};

static _Thread_local StoreIo own;

const StoreIo *store_io_of_thread(void)
{
	return &own;
}

uint64_t store_io_bytes(const StoreIo *io)
{
	return atomic_load_explicit(&io->bytes, memory_order_relaxed);
}

/* Sectors of the calling thread so far. */
static uint64_t sectors_so_far(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage) != 0)
		return 0;

	return (uint64_t)usage.ru_inblock + (uint64_t)usage.ru_oublock;
}

static void count_since(uint64_t begun)
{
	uint64_t sectors = sectors_so_far() - begun;

	atomic_fetch_add_explicit(&own.bytes, sectors * SECTOR_BYTES, memory_order_relaxed);
}

static ssize_t counted_read(int fd, void *buffer, size_t bytes)
{
	uint64_t begun = sectors_so_far();
	ssize_t done = read(fd, buffer, bytes);

	count_since(begun);
	return done;
}

ssize_t store_io_pread(int fd, void *buffer, size_t bytes, off_t offset)
{
	uint64_t begun = sectors_so_far();
	ssize_t done = pread(fd, buffer, bytes, offset);

	count_since(begun);
	return done;
}

ssize_t store_io_write(int fd, const void *buffer, size_t bytes)
{
	uint64_t begun = sectors_so_far();
	ssize_t done = write(fd, buffer, bytes);

	count_since(begun);
	return done;
}

ssize_t store_io_pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
	uint64_t begun = sectors_so_far();
	ssize_t done = pwrite(fd, buffer, bytes, offset);

	count_since(begun);
	return done;
}

/* SQLite uses one of each kind, depending on its build. */
static void replace_calls(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	const struct {
		const char *name;
		sqlite3_syscall_ptr counted;
	} calls[] = {
		{ "read", (sqlite3_syscall_ptr)counted_read },
		{ "pread", (sqlite3_syscall_ptr)store_io_pread },
		{ "pread64", (sqlite3_syscall_ptr)store_io_pread },
		{ "write", (sqlite3_syscall_ptr)store_io_write },
		{ "pwrite", (sqlite3_syscall_ptr)store_io_pwrite },
		{ "pwrite64", (sqlite3_syscall_ptr)store_io_pwrite },
	};

	if (!vfs || vfs->iVersion < 3 || !vfs->xSetSystemCall)
		return;

	for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
		vfs->xSetSystemCall(vfs, calls[i].name, calls[i].counted);
}

void store_io_watch_sqlite(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, replace_calls);
}
