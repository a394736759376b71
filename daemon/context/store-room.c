/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/store-room.h"

#include <sys/statvfs.h>

#define DEFAULT_BYTES    (UINT64_C(64) << 20)
#define DEFAULT_FRACTION 32

#define RESERVE_FRACTION  20
#define RESERVE_BYTES_MAX (UINT64_C(1) << 30)
#define LOW_FRACTION      16

#define LOOK_AGAIN_BYTES (UINT64_C(4) << 20)

/* An object's row with a usual name, and a packed anchor with its share of indexes: both measured. */
#define OBJECT_BYTES 150
#define ANCHOR_BYTES 10

struct StoreRoom {
	HashStore *store;
	char *state_directory;
	uint64_t limit_bytes;
	uint64_t in_hand_bytes; /* taken and not given back */
	uint64_t left_bytes;    /* as of the last look, less what was taken since */
	uint64_t moved_bytes;   /* taken or given back since the last look */
	bool was_looked_at;
	/* As of the first look: uncommitted data takes no space by then. */
	uint64_t first_content_bytes;
	uint64_t first_space_bytes;
	uint64_t capacity_bytes; /* the most that the content may take */
	SkipReason narrower;     /* the limit that left_bytes comes from */
	bool was_short;
};

StoreRoom *store_room_new(HashStore *store, const char *state_directory, uint64_t limit_bytes)
{
	StoreRoom *room = g_new0(StoreRoom, 1);

	room->store = store;
	room->state_directory = g_strdup(state_directory);
	room->limit_bytes = limit_bytes;
	return room;
}

void store_room_free(StoreRoom *room)
{
	if (!room)
		return;

	g_free(room->state_directory);
	g_free(room);
}

uint64_t store_room_default_bytes(uint64_t filesystem_bytes)
{
	return DEFAULT_BYTES + filesystem_bytes / DEFAULT_FRACTION;
}

static uint64_t less(uint64_t bytes, uint64_t by)
{
	return bytes > by ? bytes - by : 0;
}

/* The free space of the state directory's filesystem; unlimited if that cannot be told. */
static uint64_t free_bytes(const StoreRoom *room, uint64_t content_bytes)
{
	struct statvfs state;
	uint64_t reserve, free;

	if (statvfs(room->state_directory, &state) != 0)
		return UINT64_MAX;

	reserve = MIN((uint64_t)state.f_blocks * state.f_frsize / RESERVE_FRACTION,
		      RESERVE_BYTES_MAX);
	free = (uint64_t)state.f_bavail * state.f_frsize;
	return MIN(MAX(less(free, reserve), free / LOW_FRACTION), less(free, content_bytes));
}

static void look(StoreRoom *room)
{
	uint64_t content_bytes = hash_store_content_bytes(room->store);
	uint64_t by_limit = less(room->limit_bytes, content_bytes);
	uint64_t by_space = free_bytes(room, content_bytes);

	if (!room->was_looked_at) {
		room->first_content_bytes = content_bytes;
		room->first_space_bytes = by_space;
		room->capacity_bytes = content_bytes + MIN(by_limit, by_space);
	}
	by_space = MIN(by_space, less(room->first_space_bytes,
				      less(content_bytes, room->first_content_bytes)));
	room->narrower = by_space < by_limit ? SKIP_STATE_SPACE : SKIP_STORE_LIMIT;
	room->left_bytes = less(MIN(by_limit, by_space), room->in_hand_bytes);
	room->moved_bytes = 0;
	room->was_looked_at = true;
}

static uint64_t estimate(const StoreRoom *room, uint64_t data_bytes, bool has_anchors)
{
	uint64_t blocks = data_bytes / hash_store_about(room->store)->block_bytes;
	uint64_t anchors = hash_store_expected_anchors(room->store, blocks) + 1;

	return OBJECT_BYTES + (has_anchors ? anchors * ANCHOR_BYTES : 0);
}

bool store_room_take(StoreRoom *room, uint64_t data_bytes, bool has_anchors, uint64_t *ret_taken,
		     SkipReason *ret_reason)
{
	uint64_t bytes = estimate(room, data_bytes, has_anchors);
	bool is_stale = !room->was_looked_at || room->moved_bytes >= LOOK_AGAIN_BYTES;

	*ret_taken = 0;
	if (is_stale || (bytes > room->left_bytes && room->moved_bytes > 0))
		look(room);
	if (bytes > room->left_bytes) {
		room->was_short = true;
		*ret_reason = room->narrower;
		return false;
	}

	room->left_bytes -= bytes;
	room->moved_bytes += bytes;
	room->in_hand_bytes += bytes;
	*ret_taken = bytes;
	return true;
}

void store_room_give_back(StoreRoom *room, uint64_t taken)
{
	room->in_hand_bytes = less(room->in_hand_bytes, taken);
	room->moved_bytes += taken;
}

bool store_room_is_for_clones(StoreRoom *room, uint64_t taken, SkipReason *ret_reason)
{
	if (room->left_bytes + taken >= room->capacity_bytes / 2)
		return true;
	look(room);
	if (room->left_bytes + taken >= room->capacity_bytes / 2)
		return true;

	room->was_short = true;
	*ret_reason = room->narrower;
	return false;
}

bool store_room_was_short(const StoreRoom *room)
{
	return room->was_short;
}
