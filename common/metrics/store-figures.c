/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/metrics/store-figures.h"

#include "hashstore/database/store-files.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/holders.h"
#include "hashstore/objects/pinned.h"

#include <string.h>
#include <sys/stat.h>

static void skipped_clear(void *data)
{
	SkippedBytes *skipped = data;

	g_free(skipped->reason);
}

static void figures_free(void *data)
{
	StoreFigures *figures = data;

	if (!figures)
		return;

	g_free(figures->uuid);
	g_free(figures->trouble);
	g_free(figures->kind);
	pass_record_clear(&figures->last);
	g_array_unref(figures->skipped);
	g_free(figures);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreFigures, figures_free)

GPtrArray *store_figures_new(void)
{
	return g_ptr_array_new_with_free_func(figures_free);
}

static void take_pass(StoreFigures *figures, const PassRecord *pass)
{
	if (!figures->has_last) {
		figures->last = *pass;
		figures->last.mount_point = g_strdup(pass->mount_point);
		figures->has_last = true;
	}
	if (figures->success_usec == 0 && pass->outcome == PASS_COMPLETE)
		figures->success_usec = pass->ended_usec;
	if (!figures->has_drift && pass->is_checked) {
		figures->drift_bytes = pass->drift_bytes;
		figures->has_drift = true;
	}
}

/* Look for the last pass, the last complete one, and the last one that was checked. */
static bool read_passes(StoreFigures *figures, HashStore *store, GError **error)
{
	g_autoptr(PassCursor) cursor = pass_cursor_open(store, error);
	const PassRecord *pass;

	if (!cursor)
		return false;
	do {
		if (!pass_cursor_next(cursor, &pass, error))
			return false;
		if (pass)
			take_pass(figures, pass);
	} while (pass && (figures->success_usec == 0 || !figures->has_drift));

	return true;
}

static bool read_skipped(StoreFigures *figures, HashStore *store, GError **error)
{
	g_autoptr(SkipCursor) cursor = skip_cursor_open(store, error);

	if (!cursor)
		return false;
	while (true) {
		const SkipRecord *skip;

		if (!skip_cursor_next(cursor, &skip, error))
			return false;
		if (!skip)
			return true;
		SkippedBytes skipped = { g_strdup(skip->reason), skip->bytes };
		g_array_append_val(figures->skipped, skipped);
	}
}

static bool read_figures(StoreFigures *figures, HashStore *store, GError **error)
{
	PinnedSum pinned;
	HeldExtents deferred;

	if (!hash_store_pass_totals(store, &figures->totals, error) ||
	    !hash_store_sum_pinned(store, PINNED_ANY_CAUSE, &pinned, error) ||
	    !hash_store_sum_held(store, &deferred, error) || !read_passes(figures, store, error) ||
	    !read_skipped(figures, store, error))
		return false;

	figures->file_bytes = hash_store_file_bytes(store);
	figures->pinned_bytes = pinned.bytes;
	figures->deferred_bytes = deferred.bytes;
	figures->kind = g_strdup(hash_store_about(store)->kind);
	return true;
}

static void read_stamp(const char *directory, const char *uuid, int64_t *ret)
{
	g_autofree char *path = store_files_path(directory, uuid);
	g_autofree char *log = g_strconcat(path, "-wal", NULL);
	const char *const paths[] = { path, log };

	for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
		struct stat found = { 0 };

		(void)!stat(paths[i], &found);
		ret[2 * i] = found.st_size;
		ret[2 * i + 1] = found.st_mtim.tv_sec * INT64_C(1000000000) + found.st_mtim.tv_nsec;
	}
}

/* Read one store.  NULL: there is nothing to show. */
static StoreFigures *read_store(const char *directory, const char *uuid, const int64_t *stamp)
{
	g_autoptr(StoreFigures) figures = g_new0(StoreFigures, 1);
	g_autoptr(GError) error = NULL;
	g_autoptr(HashStore) store = hash_store_open_of(directory, uuid, &error);

	figures->uuid = g_strdup(uuid);
	figures->skipped = g_array_new(false, false, sizeof(SkippedBytes));
	g_array_set_clear_func(figures->skipped, skipped_clear);
	memcpy(figures->stamp, stamp, sizeof(figures->stamp));
	if (store && read_figures(figures, store, &error))
		return g_steal_pointer(&figures);
	if (g_error_matches(error, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT))
		return NULL;

	figures->trouble = g_strdup(error->message);
	return g_steal_pointer(&figures);
}

/* Take the figures of @uuid out of @all if they still hold. */
static StoreFigures *steal_current(GPtrArray *all, const char *uuid, const int64_t *stamp)
{
	for (guint i = 0; i < all->len; i++) {
		const StoreFigures *figures = all->pdata[i];

		if (strcmp(figures->uuid, uuid) == 0)
			return memcmp(figures->stamp, stamp, sizeof(figures->stamp)) == 0
				       ? g_ptr_array_steal_index(all, i)
				       : NULL;
	}

	return NULL;
}

bool store_figures_read(GPtrArray *all, const char *directory, GError **error)
{
	g_autoptr(GPtrArray) uuids = store_files_list(directory, error);
	g_autoptr(GPtrArray) now = store_figures_new();

	if (!uuids)
		return false;

	for (guint i = 0; i < uuids->len; i++) {
		int64_t stamp[4];
		StoreFigures *figures;

		/* A store that changes while it is read is read again next time. */
		read_stamp(directory, uuids->pdata[i], stamp);
		figures = steal_current(all, uuids->pdata[i], stamp);
		if (!figures)
			figures = read_store(directory, uuids->pdata[i], stamp);
		if (figures)
			g_ptr_array_add(now, figures);
	}

	g_ptr_array_set_size(all, 0);
	g_ptr_array_extend_and_steal(all, g_steal_pointer(&now));
	return true;
}
