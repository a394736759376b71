/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/text/path.h"

#include <string.h>

bool path_lies_in(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strcmp(directory, "/") == 0 || (strncmp(path, directory, length) == 0 &&
					       (path[length] == '/' || path[length] == '\0'));
}
