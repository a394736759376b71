/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/call/fs-uuid.h"

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
