/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/file-reader.h"

#include "common/disks/cached-ranges.h"
#include "common/threads/locked.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/file-users.h"
#include "kernel-ioctl/file/open-file.h"
#include "kernel-ioctl/file/page-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define WINDOW_BYTES FILE_READER_WINDOW_BYTES
#define WINDOWS      4

/* The limit while memory is free, for a reader that was widened. */
#define WIDE_WINDOWS 64

/* Smaller files are read through the page cache. */
#define DIRECT_BYTES (UINT64_C(256) << 10)

/* The kernel's readahead may be this far ahead of the reads. */
#define READAHEAD_BYTES (UINT64_C(8) << 20)

typedef struct {
	uint64_t start;
	uint32_t hot;   /* pieces that others had cached; the rest is dropped */
	bool is_kept;   /* the pass brought it into the cache earlier */
	bool is_direct; /* its pieces are read directly, except the hot ones */
	bool has_pages; /* of ours, which are dropped or kept */
	unsigned n_holds;
} Window;

struct FileReader {
	/* Set at creation, never changed. */
	Fd fd;
	uint64_t size_bytes;
	Throttle *throttle;
	const atomic_bool *stop;

	/* Thread: any. */
	atomic_bool refuses_direct; /* the filesystem does */

	/* Thread: the owner.  The descriptor is set before others use it. */
	bool prefers_direct;
	bool goes_direct; /* as long as it lasts: readahead and direct reads should not take turns */
	Fd direct_fd;     /* -1: not opened yet */
	PageCacheBudget *kept; /* NULL: no window is kept */
	uint32_t object;
	PageCacheBudget *wide; /* NULL: WINDOWS is the limit */
	uint64_t readahead_bytes;

	/* Guarded by mutex. */
	pthread_mutex_t mutex;
	uint64_t charged_start; /* range that was charged when it was fetched */
	uint64_t charged_end;
	GArray *windows;     /* Window, oldest first */
	GArray *kept_starts; /* uint64_t: windows left in the cache */
	uint64_t hot_bytes;  /* in all windows so far */
	bool users_are_known;
	FileUsers users;
};

FileReader *file_reader_new_take(int fd, uint64_t size_bytes, Throttle *throttle,
				 const atomic_bool *stop)
{
	FileReader *reader = g_new0(FileReader, 1);

	reader->fd = fd;
	reader->direct_fd = -1;
	reader->size_bytes = size_bytes;
	reader->throttle = throttle;
	reader->stop = stop;
	reader->windows = g_array_new(false, false, sizeof(Window));
	reader->kept_starts = g_array_new(false, false, sizeof(uint64_t));
	pthread_mutex_init(&reader->mutex, NULL);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return reader;
}

bool file_reader_has_other_users(FileReader *reader, bool writers_only)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&reader->mutex);

	if (!reader->users_are_known)
		reader->users = file_users_ask(reader->fd, writers_only);

	reader->users_are_known = true;
	return reader->users != FILE_USERS_NONE;
}

static uint64_t window_length(const FileReader *reader, const Window *window)
{
	return MIN(WINDOW_BYTES, reader->size_bytes - window->start);
}

void file_reader_expect_all(FileReader *reader, bool all)
{
	all &= !throttle_is_limited(reader->throttle) && !reader->goes_direct;
	if (all == (reader->readahead_bytes > 0))
		return;

	reader->readahead_bytes = all ? READAHEAD_BYTES : 0;
	posix_fadvise(reader->fd, 0, 0, all ? POSIX_FADV_NORMAL : POSIX_FADV_RANDOM);
}

static ReadOutcome read_bytes(const FileReader *reader, uint64_t offset, uint64_t length,
			      uint8_t *bytes)
{
	uint64_t done = 0;

	while (done < length) {
		ssize_t got =
			pread(reader->fd, bytes + done, length - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return READ_UNREADABLE;
		if (got == 0)
			return READ_SHORT;
		done += (uint64_t)got;
	}

	return READ_DONE;
}

/* Try to keep the window in the cache.  PageCacheBudget has numbers for windows below 2^56 bytes. */
static bool keep_window(FileReader *reader, const Window *window)
{
	uint64_t number = window->start / WINDOW_BYTES;

	if (!reader->kept || number > UINT32_MAX ||
	    !page_cache_budget_add(reader->kept, reader->object, (uint32_t)number,
				   window_length(reader, window)))
		return false;

	g_array_append_val(reader->kept_starts, window->start);
	return true;
}

static bool take_kept_window(FileReader *reader, uint64_t start)
{
	uint64_t number = start / WINDOW_BYTES;

	return reader->kept && number <= UINT32_MAX &&
	       page_cache_budget_take(reader->kept, reader->object, (uint32_t)number);
}

static bool is_hot_piece(const Window *window, uint64_t offset)
{
	return window->hot & UINT32_C(1) << (offset - window->start) / HOT_PIECE_BYTES;
}

/* The kernel does not drop pages that it is still reading ahead.  So read what nobody has waited for. */
static void await_readahead(const FileReader *reader, const Window *window)
{
	uint64_t end = window->start + window_length(reader, window);
	g_autofree uint8_t *ignored = g_malloc(FILE_READER_PIECE_BYTES);

	for (uint64_t at = window->start; at < end; at += FILE_READER_PIECE_BYTES) {
		uint64_t length = MIN(end - at, FILE_READER_PIECE_BYTES);

		if (!is_hot_piece(window, at) &&
		    page_cache_resident_bytes(reader->fd, at, length) > 0)
			read_bytes(reader, at, length, ignored);
	}
}

static void drop_window(FileReader *reader, const Window *window)
{
	if (!window->has_pages ||
	    (window->hot == 0 && !window->is_direct && keep_window(reader, window)))
		return;

	/* Under a limit, there is no readahead. */
	if (window->is_direct && !throttle_is_limited(reader->throttle))
		await_readahead(reader, window);
	cached_ranges_drop_others(reader->fd, window->start, window_length(reader, window),
				  window->hot);
}

/* Search from the newest: the wanted window is often the newest, or the oldest. */
static Window *find_window(const FileReader *reader, uint64_t start)
{
	for (size_t i = reader->windows->len; i > 0; i--) {
		Window *window = &g_array_index(reader->windows, Window, i - 1);

		if (window->start == start)
			return window;
	}

	return NULL;
}

void file_reader_drop(const FileReader *reader, uint64_t offset, uint64_t length)
{
	uint64_t end = MIN(offset + length, reader->size_bytes);

	for (uint64_t at = offset, next; at < end; at = next) {
		const Window *window = find_window(reader, at - at % WINDOW_BYTES);

		next = MIN(end, at - at % FILE_READER_PIECE_BYTES + FILE_READER_PIECE_BYTES);
		if (window && !is_hot_piece(window, at))
			page_cache_drop(reader->fd, at, next - at);
	}
}

void file_reader_keep(FileReader *reader, PageCacheBudget *kept, uint32_t object)
{
	reader->kept = kept;
	reader->object = object;
}

void file_reader_keep_nothing(FileReader *reader)
{
	/* Not all windows of the file: a sparse one has up to 2^39.  The first may have been kept earlier. */
	if (take_kept_window(reader, 0))
		page_cache_drop(reader->fd, 0, WINDOW_BYTES);
	for (guint i = 0; i < reader->kept_starts->len; i++) {
		uint64_t start = g_array_index(reader->kept_starts, uint64_t, i);

		if (take_kept_window(reader, start))
			page_cache_drop(reader->fd, start, WINDOW_BYTES);
	}

	reader->kept = NULL;
}

void file_reader_free(FileReader *reader)
{
	if (!reader)
		return;

	for (guint i = 0; i < reader->windows->len; i++)
		drop_window(reader, &g_array_index(reader->windows, Window, i));
	g_array_unref(reader->windows);
	g_array_unref(reader->kept_starts);
	pthread_mutex_destroy(&reader->mutex);
	fd_close(&reader->fd);
	fd_close(&reader->direct_fd);
	g_free(reader);
}

int file_reader_fd(const FileReader *reader)
{
	return reader->fd;
}

void file_reader_prefer_direct(FileReader *reader)
{
	reader->prefers_direct = reader->size_bytes >= DIRECT_BYTES;
}

void file_reader_widen(FileReader *reader, PageCacheBudget *kept)
{
	reader->wide = kept;
}

/* Make room for one more window: drop the oldest ones without holds. */
static void make_room(FileReader *reader)
{
	GArray *windows = reader->windows;
	guint most = WINDOWS;
	guint i = 0;

	if (windows->len >= WINDOWS && reader->wide && page_cache_budget_may_keep(reader->wide))
		most = WIDE_WINDOWS;

	while (windows->len >= most && i < windows->len) {
		const Window *window = &g_array_index(windows, Window, i);

		if (window->n_holds > 0) {
			i++;
			continue;
		}
		drop_window(reader, window);
		g_array_remove_index(windows, i);
	}
}

/* Whether a window that begins now is read directly: its pages could not be kept. */
static bool begins_direct(FileReader *reader)
{
	if (!reader->prefers_direct || atomic_load(&reader->refuses_direct))
		return false;

	if (!reader->goes_direct && reader->kept && page_cache_budget_may_keep(reader->kept))
		return false;

	reader->goes_direct = true;
	return true;
}

/* Record which pieces others had cached, before the first read from the window at @start. */
static void enter_window(FileReader *reader, uint64_t start)
{
	Window window = { .start = start };
	uint64_t length = window_length(reader, &window);

	if (find_window(reader, start))
		return;

	make_room(reader);
	window.is_kept = take_kept_window(reader, start);
	window.hot = window.is_kept ? 0 : cached_ranges_look(reader->fd, start, length);
	reader->hot_bytes += cached_ranges_bytes(window.hot, length);
	window.is_direct = !window.is_kept && begins_direct(reader);
	window.has_pages = !window.is_direct;
	g_array_append_val(reader->windows, window);
}

static void enter_windows(FileReader *reader, uint64_t offset, uint64_t end)
{
	for (uint64_t start = offset - offset % WINDOW_BYTES; start < end; start += WINDOW_BYTES)
		enter_window(reader, start);
}

void file_reader_hold(FileReader *reader, uint64_t offset, uint64_t length)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&reader->mutex);
	uint64_t end = MIN(offset + length, reader->size_bytes);

	for (uint64_t start = offset - offset % WINDOW_BYTES; start < end; start += WINDOW_BYTES) {
		enter_window(reader, start);
		find_window(reader, start)->n_holds++;
	}
	enter_windows(reader, end, MIN(end + reader->readahead_bytes, reader->size_bytes));
}

/* True if the range is in windows that are read directly, and no piece of it is hot. */
static bool is_direct_range(const FileReader *reader, uint64_t offset, uint64_t end)
{
	for (uint64_t at = offset - offset % HOT_PIECE_BYTES; at < end; at += HOT_PIECE_BYTES) {
		const Window *window = find_window(reader, at - at % WINDOW_BYTES);

		if (!window->is_direct || is_hot_piece(window, at))
			return false;
	}

	return true;
}

/* The windows of the range, and those that the kernel reads ahead of it, get pages. */
static void expect_pages(FileReader *reader, uint64_t offset, uint64_t end)
{
	uint64_t ahead = MIN(end + reader->readahead_bytes, reader->size_bytes);

	for (uint64_t start = offset - offset % WINDOW_BYTES; start < ahead;
	     start += WINDOW_BYTES) {
		enter_window(reader, start);
		find_window(reader, start)->has_pages = true;
	}
}

static bool open_direct(FileReader *reader)
{
	if (reader->direct_fd >= 0)
		return true;

	reader->direct_fd = open_file_direct(reader->fd);
	if (reader->direct_fd < 0)
		atomic_store(&reader->refuses_direct, true);
	/* For reads that the kernel makes through the page cache all the same. */
	else
		posix_fadvise(reader->direct_fd, 0, 0, POSIX_FADV_RANDOM);
	return reader->direct_fd >= 0;
}

bool file_reader_choose_direct(FileReader *reader, uint64_t offset, uint64_t length,
			       bool may_be_direct)
{
	uint64_t end = MIN(offset + length, reader->size_bytes);

	if (may_be_direct && is_direct_range(reader, offset, end) &&
	    !atomic_load(&reader->refuses_direct) && open_direct(reader))
		return true;

	expect_pages(reader, offset, end);
	return false;
}

void file_reader_release(FileReader *reader, uint64_t offset, uint64_t length)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&reader->mutex);
	uint64_t end = MIN(offset + length, reader->size_bytes);

	for (uint64_t start = offset - offset % WINDOW_BYTES; start < end; start += WINDOW_BYTES)
		find_window(reader, start)->n_holds--;
}

/* Pay for the uncached part of the range. */
static bool pay(const FileReader *reader, uint64_t offset, uint64_t end)
{
	uint64_t resident;

	if (!throttle_is_limited(reader->throttle))
		return true;

	resident = page_cache_resident_bytes(reader->fd, offset, end - offset);
	return throttle_take(reader->throttle, end - offset - MIN(end - offset, resident),
			     reader->stop);
}

/* Enter the windows of the range; false: it was charged when it was fetched, and they were entered then. */
static bool enter_uncharged(FileReader *reader, uint64_t offset, uint64_t end)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&reader->mutex);

	if (offset >= reader->charged_start && end <= reader->charged_end)
		return false;

	enter_windows(reader, offset, end);
	return true;
}

static bool prepare(FileReader *reader, uint64_t offset, uint64_t length)
{
	uint64_t end = MIN(offset + length, reader->size_bytes);

	if (atomic_load(reader->stop))
		return false;

	return offset >= end || !enter_uncharged(reader, offset, end) || pay(reader, offset, end);
}

/* True if all windows of the range, which were entered, were kept. */
static bool is_kept(FileReader *reader, uint64_t offset, uint64_t length)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&reader->mutex);
	uint64_t end = MIN(offset + length, reader->size_bytes);

	for (uint64_t start = offset - offset % WINDOW_BYTES; start < end; start += WINDOW_BYTES) {
		const Window *window = find_window(reader, start);

		if (!window || !window->is_kept)
			return false;
	}

	return true;
}

bool file_reader_is_cached(const FileReader *reader, uint64_t offset, uint64_t length)
{
	uint64_t end = MIN(offset + length, reader->size_bytes);

	return offset >= end ||
	       page_cache_resident_bytes(reader->fd, offset, end - offset) >= end - offset;
}

/* Data that was fetched before may be gone by now, except what was fetched just before @offset. */
static void forget_charge(FileReader *reader, uint64_t offset)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&reader->mutex);

	if (offset != reader->charged_end)
		reader->charged_start = reader->charged_end = 0;
}

/* The range counts as charged, and with it the piece before it if that was fetched just before. */
static void note_charge(FileReader *reader, uint64_t offset, uint64_t end)
{
	g_auto(Locked) locked G_GNUC_UNUSED = locked_take(&reader->mutex);
	uint64_t before = offset - MIN(offset, FILE_READER_PIECE_BYTES);

	reader->charged_start =
		offset == reader->charged_end ? MAX(reader->charged_start, before) : offset;
	reader->charged_end = end;
}

ReadOutcome file_reader_fetch(FileReader *reader, uint64_t offset, uint64_t length)
{
	forget_charge(reader, offset);

	/* Fetch piece by piece: a second's budget must not be requested at once. */
	for (uint64_t done = 0, piece; done < length; done += piece) {
		piece = MIN(length - done, FILE_READER_PIECE_BYTES);
		if (!prepare(reader, offset + done, piece))
			return READ_STOPPED;
		/* A kept window may be gone under memory pressure; prepare() has paid for it then. */
		if (!is_kept(reader, offset + done, piece) ||
		    !file_reader_is_cached(reader, offset + done, piece))
			page_cache_fetch(reader->fd, offset + done, piece);
	}

	note_charge(reader, offset, MIN(offset + length, reader->size_bytes));
	return READ_DONE;
}

bool file_reader_was_cached(const FileReader *reader, uint64_t offset, uint64_t length)
{
	uint64_t end = MIN(offset + length, reader->size_bytes);

	for (uint64_t start = offset - offset % WINDOW_BYTES; start < end; start += WINDOW_BYTES) {
		const Window *window = find_window(reader, start);
		uint64_t bytes = window_length(reader, window);

		if (cached_ranges_bytes(window->hot, bytes) < bytes)
			return false;
	}

	return true;
}

uint64_t file_reader_hot_bytes(const FileReader *reader)
{
	return reader->hot_bytes;
}

uint64_t file_reader_restore(FileReader *reader, uint64_t offset, uint64_t length)
{
	uint64_t end = MIN(offset + length, reader->size_bytes);
	uint64_t restored = 0;

	for (uint64_t start = offset - offset % WINDOW_BYTES; start < end; start += WINDOW_BYTES) {
		const Window *window = find_window(reader, start);
		uint64_t absent;

		if (!window || window->hot == 0)
			continue;
		absent = cached_ranges_fetch(reader->fd, start, window->hot, offset, end, true);
		if (absent == 0 || !throttle_take(reader->throttle, absent, reader->stop))
			continue;
		cached_ranges_fetch(reader->fd, start, window->hot, offset, end, false);
		restored += absent;
	}

	return restored;
}

ReadOutcome file_reader_read(FileReader *reader, uint64_t offset, uint64_t length, void *buffer)
{
	if (!prepare(reader, offset, length))
		return READ_STOPPED;

	return read_bytes(reader, offset, length, buffer);
}

ReadOutcome file_reader_read_held(const FileReader *reader, uint64_t offset, uint64_t length,
				  void *buffer)
{
	uint64_t end = MIN(offset + length, reader->size_bytes);

	if (atomic_load(reader->stop) || (offset < end && !pay(reader, offset, end)))
		return READ_STOPPED;

	return read_bytes(reader, offset, length, buffer);
}

/* False, with errno: not all could be read.  It stops without an error at the end of file. */
static bool read_direct_bytes(int fd, uint64_t offset, uint64_t length, uint8_t *bytes,
			      uint64_t *ret_done)
{
	uint64_t end = (length + FILE_READER_ALIGNMENT - 1) / FILE_READER_ALIGNMENT *
		       FILE_READER_ALIGNMENT;

	for (*ret_done = 0; *ret_done < length;) {
		ssize_t got =
			pread(fd, bytes + *ret_done, end - *ret_done, (off_t)(offset + *ret_done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0;
		*ret_done += (uint64_t)got;
	}

	return true;
}

ReadOutcome file_reader_read_directly(FileReader *reader, uint64_t offset, uint64_t length,
				      void *buffer)
{
	ReadOutcome outcome;
	uint64_t done;

	if (atomic_load(reader->stop) || !throttle_take(reader->throttle, length, reader->stop))
		return READ_STOPPED;
	if (read_direct_bytes(reader->direct_fd, offset, length, buffer, &done)) {
		outcome = done < length ? READ_SHORT : READ_DONE;
	} else {
		/* EINVAL: it wants another alignment.  After EIO the page cache has the last word. */
		if (errno == EINVAL)
			atomic_store(&reader->refuses_direct, true);
		outcome = read_bytes(reader, offset, length, buffer);
	}

	/* btrfs uses the page cache by itself for what it cannot read directly, such as compressed data. */
	if (page_cache_resident_bytes(reader->fd, offset, length) > 0)
		page_cache_drop(reader->fd, offset, length);
	return outcome;
}

void file_reader_fetch_held(const FileReader *reader, uint64_t offset, uint64_t length)
{
	if (!throttle_is_limited(reader->throttle))
		page_cache_fetch(reader->fd, offset, length);
}
