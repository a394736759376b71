/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/fake-manager.h"

#include <string.h>

bool manager_reload(Manager *manager, GError **error)
{
	return true;
}

void manager_listen(Manager *manager, const ManagerListener *listener)
{
	manager->listener = *listener;
}

void manager_look(Manager *manager)
{
}

DiskTable *manager_disks(const Manager *manager)
{
	return manager->disks;
}

const GPtrArray *manager_filesystems(const Manager *manager)
{
	return manager->filesystems;
}

ManagedFilesystem *manager_find_uuid(const Manager *manager, const char *uuid)
{
	for (size_t i = 0; i < manager->filesystems->len; i++)
		if (strcmp(managed_filesystem_view(manager->filesystems->pdata[i]).uuid, uuid) == 0)
			return manager->filesystems->pdata[i];
	return NULL;
}

ManagedFilesystem *manager_find(const Manager *manager, const char *name)
{
	return manager_find_uuid(manager, name);
}
