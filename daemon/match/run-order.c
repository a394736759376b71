/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/match/run-order.h"

#include <stdlib.h>

#define OVERLAP_MAX 256

struct RunOrder {
	Sorter *runs;
	bool (*is_wanted)(uint32_t target, void *data); /* NULL: all are */
	void *data;
	Run next; /* the first run that is not in the batch */
	bool has_next;
	bool is_started;
	uint64_t target_rank; /* of the batch */
	size_t n_batch;
	size_t n_given;
	Run batch[OVERLAP_MAX]; /* runs of one target that overlap, longest first */
	OrderedRun current;
};

RunOrder *run_order_new(Sorter *runs, bool (*is_wanted)(uint32_t target, void *data), void *data)
{
	RunOrder *order = g_new0(RunOrder, 1);

	order->runs = runs;
	order->is_wanted = is_wanted;
	order->data = data;
	return order;
}

void run_order_free(RunOrder *order)
{
	g_free(order);
}

/* @data: a run of so many blocks is one of the longest. */
static int compare_in_batch(const void *a, const void *b, void *data)
{
	const uint64_t *long_blocks = data;
	const Run *one = a;
	const Run *other = b;

	/* Inside one object, a range that is shared first is the source of later ones. */
	if (run_is_inside(one))
		return run_compare(a, b);
	if (MIN(one->blocks, other->blocks) >= *long_blocks) {
		if (one->source_class != other->source_class)
			return one->source_class < other->source_class ? -1 : 1;
		if (one->source != other->source)
			return one->source < other->source ? -1 : 1;
	}
	if (one->blocks != other->blocks)
		return one->blocks > other->blocks ? -1 : 1;
	return run_compare(a, b);
}

/*
 * Put the longest runs first, and among them those whose source has the lowest rank.  It is seldom a target itself.  XFS
 * drops the cached data of a target, which would be read from the disk again.
 */
static void sort_batch(RunOrder *order)
{
	uint64_t longest = 0, long_blocks;

	for (size_t i = 0; i < order->n_batch; i++)
		longest = MAX(longest, order->batch[i].blocks);
	long_blocks = longest - longest / 8;
	g_qsort_with_data(order->batch, (gint)order->n_batch, sizeof(Run), compare_in_batch,
			  &long_blocks);
}

static bool advance(RunOrder *order, GError **error)
{
	const Run *run;

	do {
		if (!sorter_next(order->runs, (const void **)&run, error))
			return false;
	} while (run && order->is_wanted && !order->is_wanted(run_target(run), order->data));

	order->has_next = run;
	if (run)
		order->next = *run;
	return true;
}

/* Take the next run and those that overlap it, or each other, into the batch. */
static bool fill_batch(RunOrder *order, GError **error)
{
	uint64_t end = 0;

	order->n_batch = 0;
	order->n_given = 0;
	if (!order->has_next)
		return true;

	order->current.begins_target =
		!order->is_started || order->next.target_rank != order->target_rank;
	order->target_rank = order->next.target_rank;
	order->is_started = true;

	while (order->has_next && order->n_batch < OVERLAP_MAX &&
	       order->next.target_rank == order->target_rank &&
	       (order->n_batch == 0 ||
		run_is_inside(&order->next) == run_is_inside(&order->batch[0])) &&
	       (order->n_batch == 0 || order->next.target_block < end)) {
		order->batch[order->n_batch++] = order->next;
		end = MAX(end, order->next.target_block + order->next.blocks);
		if (!advance(order, error))
			return false;
	}

	sort_batch(order);
	return true;
}

bool run_order_next(RunOrder *order, const OrderedRun **ret, GError **error)
{
	*ret = NULL;
	if (!order->is_started && !advance(order, error))
		return false;

	if (order->n_given == order->n_batch) {
		if (!fill_batch(order, error))
			return false;
	} else {
		order->current.begins_target = false;
	}

	if (order->n_batch == 0)
		return true;

	order->current.run = order->batch[order->n_given++];
	*ret = &order->current;
	return true;
}
