/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/pass-memory.h"

#include "kernel-ioctl/machine/memory-state.h"

struct PassMemory {
	uint64_t most_bytes;
	uint64_t taken_bytes;
};

PassMemory *pass_memory_new(const char *root)
{
	g_autoptr(GArray) states = memory_states_read(root);
	PassMemory *memory = g_new0(PassMemory, 1);

	memory->most_bytes = UINT64_MAX;
	for (guint i = 0; states && i < states->len; i++) {
		uint64_t total_bytes = g_array_index(states, MemoryState, i).total_bytes;
		/* The first is the machine. */
		uint64_t share_bytes = i == 0 ? total_bytes / 4 : total_bytes / 4 * 3;

		memory->most_bytes = MIN(memory->most_bytes, share_bytes);
	}
	return memory;
}

void pass_memory_free(PassMemory *memory)
{
	g_free(memory);
}

static uint64_t need_bytes(const Settings *settings)
{
	return 2 * MIN(settings->memory_bytes, UINT64_MAX / 4);
}

bool pass_memory_has_room(const PassMemory *memory, const Settings *settings)
{
	return !memory || memory->taken_bytes == 0 ||
	       (memory->taken_bytes <= memory->most_bytes &&
		need_bytes(settings) <= memory->most_bytes - memory->taken_bytes);
}

uint64_t pass_memory_take(PassMemory *memory, const Settings *settings)
{
	uint64_t bytes = need_bytes(settings);

	if (!memory)
		return 0;
	memory->taken_bytes += bytes;
	return bytes;
}

void pass_memory_give_back(PassMemory *memory, uint64_t bytes)
{
	if (memory)
		memory->taken_bytes -= bytes;
}
