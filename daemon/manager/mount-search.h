/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/mounts/mount-table.h"
#include "daemon/manager/detached-task.h"

/*
 * MountSearch - finds what is mounted without the main loop waiting for any of it.
 *
 * One filesystem after the other is looked at, each by an DetachedTask.  Who does not answer in time is refused, and
 * the others go on; it is not looked at again before that look has ended, so at most one thread hangs in each.
 *
 * Thread: main.
 */
typedef struct MountSearch MountSearch;

/* Who does not answer within that is said not to. */
#define MOUNT_LOOK_USEC (2 * G_USEC_PER_SEC)

typedef struct {
	/* What a search found; @mounts is consumed. */
	void (*found)(MountTable *mounts, void *data);
	/* One that did not answer has: it is to be searched anew. */
	void (*answered)(void *data);
	void *data;
} MountSearchListener;

/* @look NULL: the kernel is asked; it is borrowed for ever. */
MountSearch *mount_search_new(sd_event *event, const MountLook *look,
			      const MountSearchListener *listener);

/*
 * What is found is told from the loop, or before this returns.  @mountinfo and @earlier as in mount_table_read(),
 * borrowed until this returns.  None may run.
 */
bool mount_search_start(MountSearch *search, const char *mountinfo, const MountTable *earlier,
			GError **error) G_GNUC_WARN_UNUSED_RESULT;

bool mount_search_runs(const MountSearch *search);

/* Never waits. */
void mount_search_free(MountSearch *search);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountSearch, mount_search_free)
