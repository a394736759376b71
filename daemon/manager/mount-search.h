/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"
#include "daemon/manager/detached-task.h"

/*
 * MountSearch - finds mounted filesystems without blocking the main loop.
 *
 * It looks at one filesystem after the other, each by a DetachedTask.  A filesystem that does not answer in time is
 * refused, and the search goes on.  It is not looked at again before that task has ended, so at most one thread
 * hangs in each.
 *
 * Thread: main.
 */
typedef struct MountSearch MountSearch;

/* A filesystem that does not answer within this time counts as unresponsive. */
#define MOUNT_LOOK_USEC (2 * G_USEC_PER_SEC)

typedef struct {
	/* The result of a search; @mounts is consumed. */
	void (*found)(MountTable *mounts, void *data);
	/* A filesystem that was unresponsive has answered: search again. */
	void (*answered)(void *data);
	void *data;
} MountSearchListener;

/* @look NULL: ask the kernel; it is borrowed for ever. */
MountSearch *mount_search_new(MainLoop *loop, const MountLook *look,
			      const MountSearchListener *listener);

/*
 * The result is reported from the loop, or before this returns.  @mountinfo and @earlier are as in
 * mount_table_read(), and borrowed until this returns.  No search may run.
 */
bool mount_search_start(MountSearch *search, const char *mountinfo, const MountTable *earlier,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

bool mount_search_runs(const MountSearch *search);

/* Never blocks. */
void mount_search_free(MountSearch *search);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountSearch, mount_search_free)
