/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/page-cache-drop.h"

#include "common/disks/file-reader.h"
#include "hashstore/objects/objects.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/page-cache.h"

/* Open the object's file.  *ret_fd is -1 if it is gone, and its pages with it. */
static bool open_file(Pass *pass, FileOpener *opener, uint32_t id, int *ret_fd, GError **error)
{
	const Object *object;
	int failed;

	*ret_fd = -1;
	if (!hash_store_find(pass->store, id, &object, error))
		return false;
	if (!object)
		return true;

	if (file_opener_open_object(opener, object, ret_fd, &failed) != OPEN_OPENED)
		fd_close(ret_fd);
	return true;
}

bool page_cache_drop_drop(Pass *pass, FileOpener *opener, GError **error)
{
	g_autoptr(GArray) windows = page_cache_budget_take_all(pass->kept);
	g_auto(Fd) fd = -1;
	uint32_t object = 0;

	for (size_t i = 0; i < windows->len && pass_checkpoint(pass); i++) {
		const KeptWindow *window = &g_array_index(windows, KeptWindow, i);

		if (window->object != object) {
			object = window->object;
			fd_close(&fd);
			if (!open_file(pass, opener, object, &fd, error))
				return false;
		}
		if (fd >= 0)
			page_cache_drop(fd, window->window * FILE_READER_WINDOW_BYTES,
					FILE_READER_WINDOW_BYTES);
	}

	return true;
}
