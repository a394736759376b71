/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/call/fs-uuid.h"

#include <string.h>

bool fs_uuid_is_set(const uint8_t uuid[FS_UUID_BYTES])
{
	static const uint8_t none[FS_UUID_BYTES];

	return memcmp(uuid, none, FS_UUID_BYTES) != 0;
}

/* UUIDs are random, so their first bytes serve as a hash. */
guint fs_uuid_hash(const void *uuid)
{
	guint hash;

	memcpy(&hash, uuid, sizeof(hash));
	return hash;
}

gboolean fs_uuid_equal(const void *a, const void *b)
{
	return memcmp(a, b, FS_UUID_BYTES) == 0;
}

void fs_uuid_format(const uint8_t uuid[FS_UUID_BYTES], char ret[FS_UUID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	char *out = ret;

	for (unsigned i = 0; i < FS_UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*out++ = '-';
		*out++ = digits[uuid[i] >> 4];
		*out++ = digits[uuid[i] & 0xf];
	}
	*out = '\0';
}
