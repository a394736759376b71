/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mounts/metadata-reserve.h"

#define LEAST_BYTES (UINT64_C(8) << 20)
#define MOST_BYTES  (UINT64_C(256) << 20)
#define PART        256

uint64_t metadata_reserve_bytes(const BtrfsSpace *space)
{
	return CLAMP(space->device_total_bytes / PART, LEAST_BYTES, MOST_BYTES);
}

bool metadata_reserve_is_touched(const BtrfsSpace *space)
{
	return btrfs_space_metadata_room(space) < metadata_reserve_bytes(space);
}
