/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/special-files.h"

#include <string.h>

#define PAGE_MIN_BYTES ((size_t)4096)
#define PAGE_MAX_BYTES ((size_t)65536)

static const char grub_signature[] = "# GRUB Environment Block\n";

static bool is_swap(const uint8_t *head, size_t length)
{
	static const char *const signatures[] = { "SWAPSPACE2", "SWAP-SPACE" };

	for (size_t page = PAGE_MIN_BYTES; page <= MIN(length, PAGE_MAX_BYTES); page *= 2)
		for (size_t i = 0; i < G_N_ELEMENTS(signatures); i++)
			if (memcmp(head + page - 10, signatures[i], 10) == 0)
				return true;

	return false;
}

bool special_files_match(const uint8_t *head, size_t length, SkipReason *ret_reason)
{
	if (length >= strlen(grub_signature) &&
	    memcmp(head, grub_signature, strlen(grub_signature)) == 0) {
		*ret_reason = SKIP_BOOT;
		return true;
	}
	if (is_swap(head, length)) {
		*ret_reason = SKIP_SWAP_FILE;
		return true;
	}

	return false;
}

bool special_files_are_forbidden(const Settings *settings, const FileAttributes *attributes,
				 SkipReason *ret_reason)
{
	bool is_no_cow = attributes->is_no_cow && settings->no_data_cow == NO_COW_SKIP;

	*ret_reason = attributes->is_realtime ? SKIP_REALTIME
		      : is_no_cow             ? SKIP_NO_COW
					      : SKIP_UNSUPPORTED;
	return attributes->is_realtime || attributes->is_dax || is_no_cow;
}
