/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/throttle.h"

#include <pthread.h>
#include <unistd.h>

/* Data is read within this time after permission was taken. */
#define PENDING_USEC G_USEC_PER_SEC

/* In this time a fast disk reads hardly more than a bucket holds.  A look takes 10 us. */
#define SETTLE_USEC 1000

/* The kernel's readahead splits reads of data into requests of about this size. */
#define DATA_REQUEST_BYTES (UINT64_C(128) << 10)

/* I/O without permission is mostly metadata, in single nodes. */
#define NODE_BYTES (INT64_C(16) << 10)

typedef struct {
	DiskBudget *budget;
	DiskWatch *watch; /* may be NULL */
	bool has_data;    /* has data of the filesystem */
	bool has_store;
} ThrottledDisk;

/* A thread that works for the pass. */
typedef struct {
	int id;
	ThreadIo seen;
	bool is_seen;
	const StoreIo *store; /* I/O of the thread for stores; NULL: not known */
	uint64_t store_seen;
	DiskUser *users[]; /* one per disk; NULL-terminated */
} Member;

/* I/O of threads, with permission or without. */
typedef struct {
	int64_t store_bytes;
	int64_t other_bytes;
} Done;

struct Throttle {
	/* Set before the first use, never changed. */
	ThrottleClock clock;
	GArray *disks; /* ThrottledDisk */
	bool knows_store_disks;

	atomic_bool is_held;
	atomic_bool was_unlimited; /* I/O is not settled yet that was done without a limit */
	atomic_int_least64_t settled_usec; /* when any thread settled last */
	pthread_mutex_t mutex;

	/* Guarded by mutex. */
	GHashTable *members;    /* GThread -> Member */
	int64_t pending_bytes;  /* permitted, but not read yet */
	int64_t unneeded_bytes; /* the minimum of pending_bytes since began_usec */
	int64_t began_usec;
};

static int64_t real_now_usec(void *data)
{
	return g_get_monotonic_time();
}

static void real_sleep_usec(int64_t usec, void *data)
{
	g_usleep((unsigned long)usec);
}

static bool real_thread_io(int id, ThreadIo *ret, void *data)
{
	return thread_io_read_of(id, ret);
}

static const StoreIo *real_store_io(void *data)
{
	return store_io_of_thread();
}

static void disk_clear(void *data)
{
	ThrottledDisk *disk = data;

	disk_budget_unref(disk->budget);
}

static void member_free(void *data)
{
	Member *member = data;

	for (DiskUser **user = member->users; *user; user++)
		disk_user_free(*user);
	g_free(member);
}

Throttle *throttle_new(uint64_t rate_bytes, const ThrottleClock *clock)
{
	static const ThrottleClock real_clock = { real_now_usec, real_sleep_usec, NULL,
						  real_thread_io, real_store_io };
	Throttle *throttle = g_new0(Throttle, 1);
	g_autoptr(DiskBudget) own = NULL;

	throttle->clock = clock ? *clock : real_clock;
	throttle->disks = g_array_new(false, false, sizeof(ThrottledDisk));
	g_array_set_clear_func(throttle->disks, disk_clear);
	pthread_mutex_init(&throttle->mutex, NULL);
	throttle->members = g_hash_table_new_full(NULL, NULL, NULL, member_free);
	if (rate_bytes > 0) {
		own = disk_budget_new(&(DiskRules){ .limits.bytes = rate_bytes });
		throttle_add_disk(throttle, own, NULL);
	}
	return throttle;
}

void throttle_free(Throttle *throttle)
{
	if (!throttle)
		return;

	g_hash_table_unref(throttle->members);
	pthread_mutex_destroy(&throttle->mutex);
	g_array_unref(throttle->disks);
	g_free(throttle);
}

static ThrottledDisk *disk_at(const Throttle *throttle, guint i)
{
	return &g_array_index(throttle->disks, ThrottledDisk, i);
}

/* The disk with that budget, added if necessary. */
static ThrottledDisk *get_disk(Throttle *throttle, DiskBudget *budget, DiskWatch *watch)
{
	ThrottledDisk disk = { .budget = budget, .watch = watch };

	for (guint i = 0; i < throttle->disks->len; i++)
		if (disk_at(throttle, i)->budget == budget)
			return disk_at(throttle, i);

	disk_budget_ref(budget);
	g_array_append_val(throttle->disks, disk);
	return disk_at(throttle, throttle->disks->len - 1);
}

void throttle_add_disk(Throttle *throttle, DiskBudget *budget, DiskWatch *watch)
{
	get_disk(throttle, budget, watch)->has_data = true;
}

void throttle_add_store_disk(Throttle *throttle, DiskBudget *budget, DiskWatch *watch)
{
	get_disk(throttle, budget, watch)->has_store = true;
	throttle->knows_store_disks = true;
}

void throttle_hold(Throttle *throttle, bool is_held)
{
	atomic_store(&throttle->is_held, is_held);
}

static bool makes_way(const ThrottledDisk *disk)
{
	return disk->watch && disk_budget_rules(disk->budget).makes_way;
}

bool throttle_is_limited(const Throttle *throttle)
{
	if (atomic_load(&throttle->is_held))
		return true;

	for (guint i = 0; i < throttle->disks->len; i++)
		if (disk_budget_is_limited(disk_at(throttle, i)->budget) ||
		    makes_way(disk_at(throttle, i)))
			return true;

	return false;
}

static int64_t now_of(const Throttle *throttle)
{
	return throttle->clock.now_usec(throttle->clock.data);
}

static bool read_thread_io(const Throttle *throttle, int id, ThreadIo *ret)
{
	return throttle->clock.thread_io &&
	       throttle->clock.thread_io(id, ret, throttle->clock.data);
}

static Member *member_new(const Throttle *throttle)
{
	guint n = throttle->disks->len;
	Member *member = g_malloc0(sizeof(Member) + (n + 1) * sizeof(DiskUser *));

	for (guint i = 0; i < n; i++)
		member->users[i] = disk_user_new(disk_at(throttle, i)->budget);
	member->id = gettid();
	member->is_seen = read_thread_io(throttle, member->id, &member->seen);
	if (throttle->clock.store_io)
		member->store = throttle->clock.store_io(throttle->clock.data);
	if (member->store)
		member->store_seen = store_io_bytes(member->store);
	return member;
}

/* The member of the calling thread. */
static Member *get_member(Throttle *throttle)
{
	Member *member;

	pthread_mutex_lock(&throttle->mutex);
	member = g_hash_table_lookup(throttle->members, g_thread_self());
	if (!member) {
		member = member_new(throttle);
		g_hash_table_insert(throttle->members, g_thread_self(), member);
	}
	pthread_mutex_unlock(&throttle->mutex);
	return member;
}

/* The member's I/O for stores since the last call. */
static int64_t take_store_bytes(const Throttle *throttle, Member *member)
{
	uint64_t before = member->store_seen;

	if (!member->store || !throttle->knows_store_disks)
		return 0;

	member->store_seen = store_io_bytes(member->store);
	return (int64_t)(member->store_seen - before);
}

/* Add the member's I/O since the last call. */
static void take_done(const Throttle *throttle, Member *member, Done *done)
{
	ThreadIo before = member->seen;
	int64_t store_bytes;

	if (!member->is_seen || !read_thread_io(throttle, member->id, &member->seen))
		return;

	store_bytes = take_store_bytes(throttle, member);
	done->store_bytes += store_bytes;
	done->other_bytes += (int64_t)(member->seen.read_bytes - before.read_bytes +
				       member->seen.write_bytes - before.write_bytes) -
			     store_bytes;
}

static Done take_done_by_all(Throttle *throttle)
{
	GHashTableIter members;
	void *member;
	Done done = { 0 };

	g_hash_table_iter_init(&members, throttle->members);
	while (g_hash_table_iter_next(&members, NULL, &member))
		take_done(throttle, member, &done);

	return done;
}

/* The permitted bytes that nobody needed.  A late thread may still read them, but not after PENDING_USEC. */
static int64_t take_unneeded(Throttle *throttle)
{
	int64_t now_usec = now_of(throttle);
	int64_t unneeded_bytes = 0;

	throttle->unneeded_bytes = MIN(throttle->unneeded_bytes, throttle->pending_bytes);
	if (now_usec - throttle->began_usec > PENDING_USEC) {
		unneeded_bytes = throttle->unneeded_bytes;
		throttle->pending_bytes -= unneeded_bytes;
		throttle->unneeded_bytes = throttle->pending_bytes;
		throttle->began_usec = now_usec;
	}

	return unneeded_bytes;
}

/*
 * Charge a disk for I/O without permission, less the permitted bytes that were not needed.  With @is_free, nobody waits
 * for that.
 */
static void charge_disk(const ThrottledDisk *disk, DiskUser *user, int64_t beyond_bytes,
			int64_t unneeded_bytes, int64_t store_bytes, bool is_free)
{
	int64_t without_leave = disk->has_data ? beyond_bytes : 0;
	int64_t given_back = disk->has_data ? unneeded_bytes : 0;

	without_leave += disk->has_store ? store_bytes : 0;
	if (is_free)
		disk_user_note(user, without_leave - given_back);
	else if (without_leave != given_back)
		disk_user_settle(user, without_leave - given_back, without_leave / NODE_BYTES);
}

/* Charge the I/O beyond the permitted bytes.  True if there was any.  The caller holds the mutex. */
static bool settle_all(Throttle *throttle, Member *member)
{
	int64_t beyond_bytes, unneeded_bytes;
	bool is_free;
	Done done;

	if (!member->is_seen)
		return false;

	/* A new limit does not apply to what was read before. */
	is_free = atomic_exchange(&throttle->was_unlimited, false);

	done = take_done_by_all(throttle);
	throttle->pending_bytes -= done.other_bytes;
	beyond_bytes = MAX(-throttle->pending_bytes, 0);
	throttle->pending_bytes += beyond_bytes;
	unneeded_bytes = take_unneeded(throttle);
	for (guint i = 0; i < throttle->disks->len; i++)
		charge_disk(disk_at(throttle, i), member->users[i], beyond_bytes, unneeded_bytes,
			    done.store_bytes, is_free);
	return beyond_bytes + done.store_bytes > 0;
}

static bool settle(Throttle *throttle, Member *member)
{
	bool any;

	pthread_mutex_lock(&throttle->mutex);
	any = settle_all(throttle, member);
	pthread_mutex_unlock(&throttle->mutex);
	return any;
}

void throttle_join(Throttle *throttle)
{
	get_member(throttle);
}

void throttle_leave(Throttle *throttle)
{
	settle(throttle, get_member(throttle));
	pthread_mutex_lock(&throttle->mutex);
	g_hash_table_remove(throttle->members, g_thread_self());
	pthread_mutex_unlock(&throttle->mutex);
}

static void look(const Throttle *throttle)
{
	for (guint i = 0; i < throttle->disks->len; i++)
		if (disk_at(throttle, i)->watch)
			disk_watch_look(disk_at(throttle, i)->watch, now_of(throttle));
}

/*
 * False if counting does not matter now: asking the kernel for all threads takes longer than a fast disk
 * reads.
 */
static bool counts_now(const Throttle *throttle)
{
	for (guint i = 0; i < throttle->disks->len; i++) {
		const ThrottledDisk *disk = disk_at(throttle, i);

		/* Read the clock last: all long loops call this. */
		if (disk_budget_is_limited(disk->budget) ||
		    (makes_way(disk) && disk_watch_is_due(disk->watch, now_of(throttle))))
			return true;
	}
	return false;
}

static bool wait_for(Throttle *throttle, DiskUser *user, const DiskLimits *wanted,
		     const atomic_bool *stop)
{
	int64_t wait_usec;

	while (!atomic_load(stop)) {
		wait_usec = disk_user_ask(user, wanted, now_of(throttle));
		if (wait_usec == 0)
			return true;
		throttle->clock.sleep_usec(wait_usec, throttle->clock.data);
		look(throttle);
	}

	disk_user_give_up(user);
	return false;
}

static bool wait_for_all(Throttle *throttle, Member *member, uint64_t bytes,
			 const atomic_bool *stop)
{
	const DiskLimits wanted = {
		.bytes = bytes,
		.requests = (bytes + DATA_REQUEST_BYTES - 1) / DATA_REQUEST_BYTES,
	};
	const DiskLimits nothing = { 0 };

	for (guint i = 0; i < throttle->disks->len; i++)
		if (!wait_for(throttle, member->users[i],
			      disk_at(throttle, i)->has_data ? &wanted : &nothing, stop))
			return false;

	pthread_mutex_lock(&throttle->mutex);
	throttle->pending_bytes += (int64_t)bytes;
	pthread_mutex_unlock(&throttle->mutex);
	return true;
}

static bool wait_while_held(const Throttle *throttle, const atomic_bool *stop)
{
	while (atomic_load(&throttle->is_held) && !atomic_load(stop))
		throttle->clock.sleep_usec(DISK_USER_NAP_USEC, throttle->clock.data);

	return !atomic_load(stop);
}

/* Whether it matters what was done so far, and nobody asked the kernel for that a moment ago. */
static bool is_due_to_settle(Throttle *throttle)
{
	int64_t settled_usec, now_usec;

	if (!counts_now(throttle)) {
		atomic_store(&throttle->was_unlimited, true);
		return false;
	}

	now_usec = now_of(throttle);
	settled_usec = atomic_load(&throttle->settled_usec);
	return now_usec - settled_usec >= SETTLE_USEC &&
	       atomic_compare_exchange_strong(&throttle->settled_usec, &settled_usec, now_usec);
}

bool throttle_take(Throttle *throttle, uint64_t bytes, const atomic_bool *stop)
{
	Member *member;

	if (bytes == 0 || atomic_load(stop))
		return !atomic_load(stop);
	if (!throttle_is_limited(throttle)) {
		atomic_store(&throttle->was_unlimited, true);
		return true;
	}
	if (!wait_while_held(throttle, stop))
		return false;

	member = get_member(throttle);
	if (is_due_to_settle(throttle)) {
		settle(throttle, member);
		look(throttle);
	}
	return wait_for_all(throttle, member, bytes, stop) && !atomic_load(stop);
}

void throttle_settle(Throttle *throttle, const atomic_bool *stop)
{
	Member *member;

	if (!is_due_to_settle(throttle))
		return;

	member = get_member(throttle);
	if (settle(throttle, member))
		wait_for_all(throttle, member, 0, stop);
	look(throttle);
}
