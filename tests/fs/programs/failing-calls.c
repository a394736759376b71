/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Preloaded into dedupd, has one call fail.
 *
 * FAIL_SET=kernel|sqlite|malloc-sqlite|malloc-glib|malloc-other|NAME: the calls that are counted: those that enter
 * the kernel, those of the program to SQLite, allocations by the library that asks for them, or one function.
 * FAIL_AT=N: the call of this number fails, from 1; 0: none.
 * FAIL_PLACE=HEX: count the calls from this place only.  A place is a chain of callers in the program, SQLite and GLib.
 * FAIL_ROUND=N: which of the errors that the call can have.
 * FAIL_DEDUPE_HALF=1: each FIDEDUPERANGE shares half of its range, in whole blocks of 4 KiB, and says that all is the
 * same.  XFS does so if it fails after the first extents.
 * FAIL_DEDUPE_QUOTA=N: the FIDEDUPERANGE of this number, from 1, answers EDQUOT for its targets.
 * FAIL_DEDUPE_DENIED=N: the same with EPERM.
 * FAIL_LOG=PATH: a file of LOG_BYTES or more.  It receives the number of calls, and the call that failed.  What is
 * longer receives the place of each call, in 8 bytes.
 *
 * The wrapper of a function has six arguments of a register each, as all of them arrive.  It takes the name of
 * the function in the library alone, so that its declaration does not matter.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define LOG_BYTES 4096
#define N_ERRORS  6
#define N_FRAMES  32

/* What a wrapped call can fail with, other than an errno. */
#define SHORT  (-1) /* half of what was asked for is done */
#define TARGET (-2) /* of FIDEDUPERANGE: the call succeeds, its target does not */

/* How a function says that it failed. */
typedef enum {
	SAYS_MINUS_ONE, /* and errno */
	SAYS_NULL,      /* and errno */
	SAYS_ERRNO,     /* returns it */
	SAYS_CLOSED,    /* -1 and errno, but the work is done */
} Saying;

typedef struct {
	Saying saying;
	int errors[N_ERRORS]; /* up to the first 0 */
} Manner;

typedef struct {
	uint64_t n_calls;
	char failed[LOG_BYTES - sizeof(uint64_t)];
	uint64_t places[];
} Log;

_Static_assert(offsetof(Log, places) == LOG_BYTES, "the places begin there");

typedef long (*Function)(long, long, long, long, long, long);

typedef struct {
	uintptr_t begin;
	uintptr_t end;
} Code;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

/* Set by the constructor, never changed. */
static const char *set;
static uint64_t fail_at;
static uint64_t fail_place; /* 0: any */
static unsigned fail_round;
static Log *the_log;
static uint64_t n_places; /* that the log has room for */
static Code program, sqlite, glib, urcu;

/* Which call it is, of those that are counted. */
static atomic_uint_fast64_t n_calls;

typedef int Main(int argc, char **argv, char **environment);
typedef int StartMain(Main *run, int argc, char **argv, void (*begin)(void), void (*end)(void),
		      void (*end_loader)(void), void *stack_end);

static Main *real_main;
static atomic_bool has_ended;

static int watch_main(int argc, char **argv, char **environment)
{
	int status = real_main(argc, argv, environment);

	/* A program that is built to count its lines writes them now. */
	atomic_store(&has_ended, true);
	return status;
}

/* What calls main() of each program, in the C library. */
StartMain start_main __asm__("__libc_start_main");

int start_main(Main *run, int argc, char **argv, void (*begin)(void), void (*end)(void),
	       void (*end_loader)(void), void *stack_end)
{
	StartMain *start;

	*(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
	real_main = run;
	return start(watch_main, argc, argv, begin, end, end_loader, stack_end);
}

static bool lies_in(const Code *code, const void *address)
{
	return (uintptr_t)address >= code->begin && (uintptr_t)address < code->end;
}

static void find_code(const struct dl_phdr_info *info, Code *ret)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		ret->begin = info->dlpi_addr + segment->p_vaddr;
		ret->end = ret->begin + segment->p_memsz;
	}
}

static int note_library(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	if (info->dlpi_name[0] == '\0')
		find_code(info, &program);
	else if (strstr(info->dlpi_name, "/libsqlite3."))
		find_code(info, &sqlite);
	else if (strstr(info->dlpi_name, "/libglib-2.0."))
		find_code(info, &glib);
	else if (strstr(info->dlpi_name, "/liburcu-memb."))
		find_code(info, &urcu);
	return 0;
}

static Function find_real(const char *name)
{
	Function found;

	*(void **)&found = dlsym(RTLD_NEXT, name);
	return found;
}

static Log *map_log(void)
{
	const char *path = getenv("FAIL_LOG");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct stat log;
	void *mapped;

	if (fd < 0 || fstat(fd, &log) != 0)
		return NULL;
	mapped = mmap(NULL, (size_t)log.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return NULL;

	n_places = ((uint64_t)log.st_size - LOG_BYTES) / sizeof(uint64_t);
	return mapped;
}

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FAIL_AT"), *round = getenv("FAIL_ROUND");
	const char *place = getenv("FAIL_PLACE");
	void *frames[N_FRAMES];

	dl_iterate_phdr(note_library, NULL);
	/* The first call loads a library. */
	backtrace(frames, N_FRAMES);
	/* No call counts yet. */
	the_log = map_log();
	fail_at = at ? strtoull(at, NULL, 10) : 0;
	fail_place = place ? strtoull(place, NULL, 16) : 0;
	fail_round = round ? (unsigned)strtoul(round, NULL, 10) : 0;
	set = getenv("FAIL_SET");
}

/* "name(error)", and where the program called it. */
static void note_failure(const char *name, long detail, int error)
{
	void *frames[N_FRAMES];
	int n = backtrace(frames, N_FRAMES);
	size_t length;

	if (!the_log)
		return;

	length = (size_t)snprintf(the_log->failed, sizeof(the_log->failed), "%s(%lx) %d", name,
				  detail, error);
	for (int i = 0; i < n && length + 32 < sizeof(the_log->failed); i++) {
		Dl_info found;

		if (lies_in(&program, frames[i]) && dladdr(frames[i], &found))
			length += (size_t)snprintf(
				the_log->failed + length, 32, " %lx",
				(unsigned long)((uintptr_t)frames[i] - (uintptr_t)found.dli_fbase));
	}
}

/* Whoever calls; never 0. */
static uint64_t find_place(void)
{
	const Code *codes[] = { &program, &sqlite, &glib };
	void *frames[N_FRAMES];
	int n = backtrace(frames, N_FRAMES);
	uint64_t place = 1;

	for (int i = 0; i < n; i++)
		for (size_t code = 0; code < sizeof(codes) / sizeof(codes[0]); code++)
			if (lies_in(codes[code], frames[i]))
				place = (place ^ ((uintptr_t)frames[i] - codes[code]->begin)) *
						UINT64_C(0x9e3779b97f4a7c15) +
					code;
	return place | 1;
}

/* Whether this call of the set is the one that fails. */
static bool must_fail(void)
{
	uint64_t place = fail_place || n_places > 0 ? find_place() : 0;
	uint64_t number;

	if (atomic_load(&has_ended) || (fail_place && place != fail_place))
		return false;

	number = atomic_fetch_add(&n_calls, 1) + 1;
	if (the_log)
		the_log->n_calls = number;
	if (number <= n_places)
		the_log->places[number - 1] = place;
	return number == fail_at;
}

static bool counts(const char *wanted)
{
	return set && strcmp(set, wanted) == 0;
}

static int choose_error(const Manner *manner)
{
	unsigned n = 0;

	while (n < N_ERRORS && manner->errors[n] != 0)
		n++;
	return manner->errors[fail_round % n];
}

static long say_failure(Saying saying, int error)
{
	if (saying == SAYS_ERRNO)
		return error;
	errno = error;
	return saying == SAYS_NULL ? 0 : -1;
}

static long fail_targets(struct file_dedupe_range *range, int error)
{
	for (unsigned i = 0; i < range->dest_count; i++)
		range->info[i].status = -error;
	return 0;
}

static long dedupe(Function real, long fd, struct file_dedupe_range *range)
{
	static _Atomic int n_dedupes;
	const char *quota = getenv("FAIL_DEDUPE_QUOTA"), *denied = getenv("FAIL_DEDUPE_DENIED");
	int number = atomic_fetch_add(&n_dedupes, 1) + 1;
	uint64_t length = range->src_length;
	long result;

	if (quota && number == atoi(quota))
		return fail_targets(range, EDQUOT);
	if (denied && number == atoi(denied))
		return fail_targets(range, EPERM);
	if (getenv("FAIL_DEDUPE_HALF") && length > 4096)
		range->src_length = length / 2 / 4096 * 4096;
	result = real(fd, FIDEDUPERANGE, (long)range, 0, 0, 0);
	range->src_length = length;
	return result;
}

static long call(Function *real, const char *name, const Manner *manner, const void *caller, long a,
		 long b, long c, long d, long e, long f)
{
	bool fails = (counts("kernel") || counts(name)) && !lies_in(&urcu, caller) && must_fail();
	bool is_ioctl = strcmp(name, "ioctl") == 0;
	bool is_dedupe = is_ioctl && b == (long)FIDEDUPERANGE;
	int error = fails ? choose_error(manner) : 0;

	if (!*real)
		*real = find_real(name);
	if (!fails && is_dedupe)
		return dedupe(*real, a, (struct file_dedupe_range *)c);
	if (!fails)
		return (*real)(a, b, c, d, e, f);

	if (is_ioctl && !is_dedupe && error < 0)
		error = EIO;
	note_failure(name, b, error);
	if (error == TARGET)
		return fail_targets((struct file_dedupe_range *)c, EIO);
	if (error == SHORT)
		return (*real)(a, b, (c + 1) / 2, d, e, f);
	if (manner->saying == SAYS_CLOSED)
		(*real)(a, b, c, d, e, f);
	return say_failure(manner->saying, error);
}

static const Manner opening = { SAYS_MINUS_ONE, { EIO, ENOMEM, EINTR, EMFILE } };
static const Manner reading = { SAYS_MINUS_ONE, { EIO, EINTR, ENOMEM, SHORT } };
static const Manner writing = { SAYS_MINUS_ONE, { EIO, ENOSPC, EINTR, SHORT, EDQUOT, ENOMEM } };
static const Manner asking = { SAYS_MINUS_ONE, { EIO, ENOMEM, EINTR } };
static const Manner flushing = { SAYS_MINUS_ONE, { EIO, ENOSPC, EINTR } };
static const Manner mapping = { SAYS_MINUS_ONE, { ENOMEM, EAGAIN } };
static const Manner controlling = { SAYS_MINUS_ONE, { EIO, ENOMEM, EINTR, EAGAIN, TARGET } };
static const Manner making = { SAYS_MINUS_ONE, { EIO, ENOSPC, ENOMEM, EMFILE } };
static const Manner locking = { SAYS_MINUS_ONE, { EINTR, ENOLCK, EIO } };
static const Manner closing = { SAYS_CLOSED, { EIO, EINTR, ENOSPC } };
static const Manner listing = { SAYS_NULL, { EIO, ENOMEM } };
static const Manner starting = { SAYS_ERRNO, { EAGAIN } };
static const Manner reserving = { SAYS_ERRNO, { EIO, ENOSPC, EINTR } };
static const Manner waiting = { SAYS_MINUS_ONE, { EINTR, ENOMEM } };

#define WRAP(name, manner)                                                                         \
	long wrap_##name(long a, long b, long c, long d, long e, long f) __asm__(#name);           \
	long wrap_##name(long a, long b, long c, long d, long e, long f)                           \
	{                                                                                          \
		static Function real;                                                              \
                                                                                                   \
		return call(&real, #name, &manner, __builtin_return_address(0), a, b, c, d, e, f); \
	}

WRAP(open, opening)
WRAP(open64, opening)
WRAP(openat, opening)
WRAP(openat64, opening)
WRAP(open_by_handle_at, opening)
WRAP(syscall, opening)
WRAP(memfd_create, making)
WRAP(mkostemp64, making)
WRAP(mkdir, making)
WRAP(mkdirat, making)
WRAP(pipe2, making)
WRAP(eventfd, making)
WRAP(socket, making)
WRAP(socketpair, making)
WRAP(rename, making)
WRAP(renameat2, making)
WRAP(unlink, making)
WRAP(unlinkat, making)
WRAP(rmdir, making)
WRAP(chmod, making)
WRAP(fchmod, making)
WRAP(read, reading)
WRAP(pread64, reading)
WRAP(write, writing)
WRAP(pwrite64, writing)
WRAP(ftruncate64, writing)
WRAP(fallocate64, flushing)
WRAP(fsync, flushing)
WRAP(fdatasync, flushing)
WRAP(syncfs, flushing)
WRAP(fstat64, asking)
WRAP(stat64, asking)
WRAP(lstat64, asking)
WRAP(statx, asking)
WRAP(fstatfs64, asking)
WRAP(statfs64, asking)
WRAP(fstatvfs64, asking)
WRAP(statvfs64, asking)
WRAP(access, asking)
WRAP(faccessat, asking)
WRAP(lseek64, asking)
WRAP(getdents64, asking)
WRAP(readlink, asking)
WRAP(mincore, asking)
WRAP(sysinfo, asking)
WRAP(getrlimit64, asking)
WRAP(setrlimit64, asking)
WRAP(setpriority, asking)
WRAP(getrusage, asking)
WRAP(getrandom, reading)
WRAP(opendir, listing)
WRAP(readdir64, listing)
WRAP(realpath, listing)
WRAP(mmap, mapping)
WRAP(mmap64, mapping)
WRAP(mremap, mapping)
WRAP(ioctl, controlling)
WRAP(flock, locking)
WRAP(fcntl, locking)
WRAP(fcntl64, locking)
WRAP(close, closing)
WRAP(munmap, closing)
WRAP(poll, waiting)
WRAP(pthread_create, starting)
WRAP(posix_fallocate64, reserving)
WRAP(posix_fadvise64, reserving)

/* SQLITE_IOERR, SQLITE_FULL, SQLITE_NOMEM, SQLITE_BUSY, SQLITE_INTERRUPT, SQLITE_CORRUPT */
static const Manner of_sqlite = { SAYS_ERRNO, { 10, 13, 7, 5, 9, 11 } };
static const Manner without_value = { SAYS_NULL, { ENOMEM } };

static long call_sqlite(Function *real, const char *name, const Manner *manner, const void *caller,
			long a, long b, long c, long d, long e, long f)
{
	bool fails = (counts("sqlite") || counts(name)) && lies_in(&program, caller) && must_fail();
	int error = fails ? choose_error(manner) : 0;

	if (!*real)
		*real = find_real(name);
	if (!fails)
		return (*real)(a, b, c, d, e, f);

	note_failure(name, 0, error);
	return say_failure(manner->saying, error);
}

#define WRAP_SQLITE(name, manner)                                                                  \
	long wrap_##name(long a, long b, long c, long d, long e, long f) __asm__(#name);           \
	long wrap_##name(long a, long b, long c, long d, long e, long f)                           \
	{                                                                                          \
		static Function real;                                                              \
                                                                                                   \
		return call_sqlite(&real, #name, &manner, __builtin_return_address(0), a, b, c, d, \
				   e, f);                                                          \
	}

WRAP_SQLITE(sqlite3_exec, of_sqlite)
WRAP_SQLITE(sqlite3_prepare_v3, of_sqlite)
WRAP_SQLITE(sqlite3_step, of_sqlite)
WRAP_SQLITE(sqlite3_file_control, of_sqlite)
WRAP_SQLITE(sqlite3_db_config, of_sqlite)
WRAP_SQLITE(sqlite3_config, of_sqlite)
WRAP_SQLITE(sqlite3_column_text, without_value)

/* Whether an allocation for the code at @caller fails. */
static bool lacks_memory(const char *name, const void *caller)
{
	static _Thread_local bool is_noting;
	const char *by = lies_in(&sqlite, caller) ? "malloc-sqlite"
			 : lies_in(&glib, caller) ? "malloc-glib"
						  : "malloc-other";

	bool fails;

	if (is_noting || !counts(by))
		return false;

	is_noting = true;
	fails = must_fail();
	if (fails)
		note_failure(name, 0, ENOMEM);
	is_noting = false;
	if (fails)
		errno = ENOMEM;
	return fails;
}

void *malloc(size_t bytes)
{
	return lacks_memory("malloc", __builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return lacks_memory("calloc", __builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return lacks_memory("realloc", __builtin_return_address(0)) ? NULL
								    : __libc_realloc(old, bytes);
}
