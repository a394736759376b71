/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/disk-budget.h"

#include "common/threads/rcu.h"

#include <pthread.h>
#include <stdatomic.h>

/* The capacity of a bucket, in seconds of its rate. */
#define BURST (1.0 / 16)

/* How long a user waits before asking again if another one comes first. */
#define TURN_USEC 1000

/* A bucket of bytes or of requests. */
typedef struct {
	double rate;  /* 0: no limit */
	double level; /* below zero: debt */
} Bucket;

typedef struct {
	RcuData rcu;
	DiskRules rules;
} RulesInForce;

struct DiskBudget {
	_Atomic(RulesInForce *) in_force; /* under RCU */

	/*
	 * Every thread that measures the disk writes both.  A limit of bytes with an older one of
	 * requests is harmless.
	 */
	atomic_uint_least64_t pressure_bytes;
	atomic_uint_least64_t pressure_requests;

	atomic_uint n_references;
	atomic_uint_least64_t charged_bytes;

	/* Taken by users alone. */
	pthread_mutex_t mutex;

	/* Guarded by mutex. */
	Bucket bytes;
	Bucket requests;
	int64_t filled_usec; /* 0: never */
	double turn;         /* the start of the last granted user, in bytes */
	GQueue waiting;      /* DiskUser */
};

struct DiskUser {
	DiskBudget *budget;

	/* Guarded by the mutex of the budget. */
	double start; /* start of the current request, in bytes that it had */
	double end;   /* end of the last one */
	bool is_waiting;
};

static uint64_t lesser(uint64_t one, uint64_t other)
{
	if (one == 0 || other == 0)
		return MAX(one, other);

	return MIN(one, other);
}

DiskRules disk_budget_rules(const DiskBudget *budget)
{
	g_auto(RcuSection) section G_GNUC_UNUSED = rcu_section_begin();

	return atomic_load(&budget->in_force)->rules;
}

static DiskLimits limits_in_force(const DiskBudget *budget)
{
	const DiskRules rules = disk_budget_rules(budget);

	if (!rules.makes_way)
		return rules.limits;

	return (DiskLimits){
		.bytes = lesser(rules.limits.bytes, atomic_load(&budget->pressure_bytes)),
		.requests = lesser(rules.limits.requests, atomic_load(&budget->pressure_requests)),
	};
}

/* Without a limit there is no debt either. */
static void set_rate(Bucket *bucket, uint64_t rate)
{
	bucket->rate = (double)rate;
	if (rate == 0)
		bucket->level = 0;
	bucket->level = MIN(bucket->level, bucket->rate * BURST);
}

/* With the mutex held. */
static void take_limits(DiskBudget *budget)
{
	const DiskLimits limits = limits_in_force(budget);

	set_rate(&budget->bytes, limits.bytes);
	set_rate(&budget->requests, limits.requests);
}

void disk_budget_set_rules(DiskBudget *budget, const DiskRules *rules)
{
	RulesInForce *in_force = g_new0(RulesInForce, 1);

	in_force->rules = *rules;
	in_force = atomic_exchange(&budget->in_force, in_force);
	rcu_free_later((RcuData *)in_force);
}

DiskBudget *disk_budget_new(const DiskRules *rules)
{
	DiskBudget *budget = g_new0(DiskBudget, 1);

	atomic_store(&budget->n_references, 1);
	pthread_mutex_init(&budget->mutex, NULL);
	g_queue_init(&budget->waiting);
	disk_budget_set_rules(budget, rules);
	return budget;
}

DiskBudget *disk_budget_ref(DiskBudget *budget)
{
	atomic_fetch_add(&budget->n_references, 1);
	return budget;
}

void disk_budget_unref(DiskBudget *budget)
{
	if (!budget || atomic_fetch_sub(&budget->n_references, 1) > 1)
		return;

	g_queue_clear(&budget->waiting);
	g_free(atomic_load(&budget->in_force));
	pthread_mutex_destroy(&budget->mutex);
	g_free(budget);
}

void disk_budget_set_pressure(DiskBudget *budget, const DiskLimits *limits)
{
	atomic_store(&budget->pressure_bytes, limits->bytes);
	atomic_store(&budget->pressure_requests, limits->requests);
}

bool disk_budget_is_limited(const DiskBudget *budget)
{
	const DiskLimits limits = limits_in_force(budget);

	return limits.bytes > 0 || limits.requests > 0;
}

uint64_t disk_budget_charged_bytes(const DiskBudget *budget)
{
	return atomic_load(&budget->charged_bytes);
}

DiskUser *disk_user_new(DiskBudget *budget)
{
	DiskUser *user = g_new0(DiskUser, 1);

	user->budget = disk_budget_ref(budget);
	return user;
}

void disk_user_free(DiskUser *user)
{
	if (!user)
		return;

	disk_user_give_up(user);
	disk_budget_unref(user->budget);
	g_free(user);
}

static void fill_bucket(Bucket *bucket, double seconds)
{
	bucket->level = MIN(bucket->level + bucket->rate * seconds, bucket->rate * BURST);
}

static void fill(DiskBudget *budget, int64_t now_usec)
{
	double seconds = (double)(now_usec - budget->filled_usec) / G_USEC_PER_SEC;

	budget->filled_usec = now_usec;
	take_limits(budget);
	fill_bucket(&budget->bytes, seconds);
	fill_bucket(&budget->requests, seconds);
}

/* The time until the bucket has paid its debt. */
static int64_t wait_usec(const Bucket *bucket)
{
	if (bucket->rate == 0 || bucket->level >= 0)
		return 0;

	/* Limit the double first: it may exceed an integer. */
	return (int64_t)MIN(-bucket->level / bucket->rate * G_USEC_PER_SEC + 1, DISK_USER_NAP_USEC);
}

static void begin_to_wait(DiskUser *user)
{
	if (user->is_waiting)
		return;

	user->is_waiting = true;
	user->start = MAX(user->end, user->budget->turn);
	user->end = user->start;
	g_queue_push_tail(&user->budget->waiting, user);
}

static void end_to_wait(DiskUser *user)
{
	if (user->is_waiting)
		g_queue_remove(&user->budget->waiting, user);
	user->is_waiting = false;
}

/* The user with the lowest start; of equal ones the one that has waited longest. */
static bool is_first(const DiskUser *user)
{
	const DiskUser *first = NULL;

	for (const GList *link = user->budget->waiting.head; link; link = link->next) {
		const DiskUser *other = link->data;

		if (!first || other->start < first->start)
			first = other;
	}

	return user == first;
}

void disk_user_note(DiskUser *user, int64_t bytes)
{
	atomic_fetch_add(&user->budget->charged_bytes, (uint64_t)bytes);
}

/* The caller holds the mutex. */
static void charge(DiskUser *user, int64_t bytes, int64_t requests)
{
	DiskBudget *budget = user->budget;

	if (budget->bytes.rate > 0)
		budget->bytes.level -= (double)bytes;
	if (budget->requests.rate > 0)
		budget->requests.level -= (double)requests;
	user->end += (double)bytes;
	disk_user_note(user, bytes);
}

static int64_t ask_in_turn(DiskUser *user, const DiskLimits *wanted, int64_t now_usec)
{
	DiskBudget *budget = user->budget;
	int64_t wait;

	fill(budget, now_usec);
	begin_to_wait(user);
	wait = MAX(wait_usec(&budget->bytes), wait_usec(&budget->requests));
	if (wait == 0 && !is_first(user))
		wait = TURN_USEC;
	if (wait > 0)
		return wait;

	end_to_wait(user);
	budget->turn = MAX(budget->turn, user->start);
	charge(user, (int64_t)wanted->bytes, (int64_t)wanted->requests);
	return 0;
}

int64_t disk_user_ask(DiskUser *user, const DiskLimits *wanted, int64_t now_usec)
{
	int64_t wait;

	pthread_mutex_lock(&user->budget->mutex);
	wait = ask_in_turn(user, wanted, now_usec);
	pthread_mutex_unlock(&user->budget->mutex);
	return wait;
}

void disk_user_give_up(DiskUser *user)
{
	pthread_mutex_lock(&user->budget->mutex);
	end_to_wait(user);
	pthread_mutex_unlock(&user->budget->mutex);
}

void disk_user_settle(DiskUser *user, int64_t bytes, int64_t requests)
{
	pthread_mutex_lock(&user->budget->mutex);
	take_limits(user->budget);
	charge(user, bytes, requests);
	user->start = user->end;
	pthread_mutex_unlock(&user->budget->mutex);
}
