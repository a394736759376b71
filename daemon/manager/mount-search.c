/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/mount-search.h"

struct MountSearch {
	/* Set at creation, never changed. */
	MainLoop *loop;
	const MountLook *look;
	MountSearchListener listener;

	/* The present search; else NULL. */
	MountTable *table;
	size_t index; /* of the one that is looked at */
	DetachedTask *task;

	GPtrArray *hanging; /* HangingLook */
};

/* The data of a look. */
typedef struct {
	MountedFilesystem *filesystem;
	const MountLook *look;
} Look;

/* A look that has not ended. */
typedef struct {
	MountSearch *search;
	DetachedTask *task;
	uint32_t major, minor;
} HangingLook;

static void look_free(void *data)
{
	Look *look = data;

	mounted_filesystem_free(look->filesystem);
	g_free(look);
}

static void hanging_look_free(HangingLook *hanging)
{
	detached_task_free(hanging->task);
	g_free(hanging);
}

static void look_work(void *data)
{
	Look *look = data;

	mounted_filesystem_examine(look->filesystem, look->look);
}

static const DetachedTaskKind look_kind = {
	.thread_name = "look",
	.work = look_work,
	.free_work_data = look_free,
	.patience_usec = MOUNT_LOOK_USEC,
};

static bool hangs(const MountSearch *search, const MountedFilesystem *filesystem)
{
	for (size_t i = 0; i < search->hanging->len; i++) {
		const HangingLook *hanging = search->hanging->pdata[i];

		if (hanging->major == filesystem->major && hanging->minor == filesystem->minor)
			return true;
	}

	return false;
}

static MountedFilesystem *looked_at(const MountSearch *search)
{
	return mount_table_filesystems(search->table)->pdata[search->index];
}

static void look_on(MountSearch *search);

static void on_looked(void *data)
{
	MountSearch *search = data;
	g_autoptr(DetachedTask) task = g_steal_pointer(&search->task);
	Look *look = detached_task_work_data(task);

	mount_table_replace(search->table, search->index++, g_steal_pointer(&look->filesystem));
	look_on(search);
}

static void on_answered(void *data)
{
	HangingLook *hanging = data;
	MountSearch *search = hanging->search;

	g_ptr_array_remove_fast(search->hanging, hanging);
	search->listener.answered(search->listener.data);
}

static void on_late(void *data)
{
	MountSearch *search = data;
	MountedFilesystem *filesystem = looked_at(search);
	HangingLook *hanging = g_new0(HangingLook, 1);
	const DetachedTaskListener listener = { .done = on_answered, .data = hanging };

	hanging->search = search;
	hanging->task = g_steal_pointer(&search->task);
	hanging->major = filesystem->major;
	hanging->minor = filesystem->minor;
	detached_task_set_listener(hanging->task, &listener);
	g_ptr_array_add(search->hanging, hanging);

	mounted_filesystem_set_silent(filesystem);
	search->index++;
	look_on(search);
}

/* Look at the filesystem.  Returns false if it is refused instead. */
static bool look_at(MountSearch *search, MountedFilesystem *filesystem)
{
	const DetachedTaskListener listener = { on_looked, on_late, search };
	g_autoptr(GError) error = NULL;
	Look *look;

	if (hangs(search, filesystem)) {
		mounted_filesystem_set_silent(filesystem);
		return false;
	}

	look = g_new0(Look, 1);
	look->filesystem = mounted_filesystem_copy(filesystem);
	look->look = search->look;
	search->task = detached_task_new(search->loop, &look_kind, look, &listener, &error);
	if (!search->task)
		filesystem->refusal = g_strdup(error->message);
	return search->task;
}

/* Look at the next one, or report the result. */
static void look_on(MountSearch *search)
{
	const GPtrArray *all = mount_table_filesystems(search->table);

	for (; search->index < all->len; search->index++)
		if (look_at(search, all->pdata[search->index]))
			return;

	mount_table_conclude(search->table);
	search->listener.found(g_steal_pointer(&search->table), search->listener.data);
}

MountSearch *mount_search_new(MainLoop *loop, const MountLook *look,
			      const MountSearchListener *listener)
{
	MountSearch *search = g_new0(MountSearch, 1);

	search->loop = loop;
	search->look = look;
	search->listener = *listener;
	search->hanging = g_ptr_array_new_with_free_func((GDestroyNotify)hanging_look_free);
	return search;
}

bool mount_search_start(MountSearch *search, const char *mountinfo, const MountTable *earlier,
			GError **error)
{
	search->table = mount_table_list(mountinfo, earlier, error);
	search->index = 0;
	if (!search->table)
		return false;

	look_on(search);
	return true;
}

bool mount_search_runs(const MountSearch *search)
{
	return search->table;
}

void mount_search_free(MountSearch *search)
{
	if (!search)
		return;

	detached_task_free(search->task);
	mount_table_free(search->table);
	g_ptr_array_unref(search->hanging);
	g_free(search);
}
