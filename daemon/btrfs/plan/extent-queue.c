/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-queue.h"

#include "common/content/run.h"

/*
 * The queue is full with so many short targets, or so many bytes of long ones: data that is fetched for them stays
 * in memory until they are shared.
 */
#define TARGETS_MAX 256
#define BYTES_MAX   (UINT64_C(16) << 20)
#define LEAST_MAX   16

/* Limit of the steps and runs of all targets together; a single target may have more. */
#define MEMORY_MAX (UINT64_C(8) << 20)

struct ExtentQueue {
	GQueue targets; /* PlannedTarget */
	uint64_t bytes;
	uint64_t memory_bytes;
};

void planned_target_free(PlannedTarget *planned)
{
	if (!planned)
		return;

	g_array_unref(planned->steps);
	g_array_unref(planned->parts);
	g_array_unref(planned->holders);
	g_array_unref(planned->runs);
	g_free(planned);
}

void planned_target_fetch(PlannedTarget *planned, ExtentFiles *files, uint64_t length)
{
	const ExtentStep *first = &g_array_index(planned->steps, ExtentStep, 0);

	planned->of_target =
		extent_files_fetch(files, &first->target, first->target_offset, length);
	if (first->from == STEP_FROM_PLACE)
		planned->of_source =
			extent_files_fetch(files, &first->source, first->source_offset, length);
}

void planned_target_release(PlannedTarget *planned, ExtentFiles *files)
{
	extent_files_release(files, &planned->of_target);
	extent_files_release(files, &planned->of_source);
}

ExtentQueue *extent_queue_new(void)
{
	ExtentQueue *queue = g_new0(ExtentQueue, 1);

	g_queue_init(&queue->targets);
	return queue;
}

void extent_queue_free(ExtentQueue *queue)
{
	if (!queue)
		return;

	g_queue_clear_full(&queue->targets, (GDestroyNotify)planned_target_free);
	g_free(queue);
}

static void replace(GArray *array, const GArray *by)
{
	g_array_set_size(array, 0);
	g_array_append_vals(array, by->data, by->len);
}

void planned_target_set(PlannedTarget *planned, const GArray *steps, const GArray *parts,
			const GArray *holders)
{
	replace(planned->steps, steps);
	replace(planned->parts, parts);
	replace(planned->holders, holders);
}

PlannedTarget *extent_queue_push(ExtentQueue *queue, const Object *target, const GArray *steps,
				 const GArray *parts, const GArray *holders, const GArray *runs)
{
	PlannedTarget *planned = g_new0(PlannedTarget, 1);

	planned->extent = *target;
	planned->steps = g_array_new(false, false, sizeof(ExtentStep));
	planned->parts = g_array_new(false, false, sizeof(CopyPart));
	planned->holders = g_array_new(false, false, sizeof(uint64_t));
	planned->runs = g_array_new(false, false, sizeof(Run));
	planned_target_set(planned, steps, parts, holders);
	replace(planned->runs, runs);
	queue->bytes += target->size_bytes;
	planned->memory_bytes = planned->steps->len * sizeof(ExtentStep) +
				planned->parts->len * sizeof(CopyPart) +
				planned->holders->len * sizeof(uint64_t) + runs->len * sizeof(Run);
	queue->memory_bytes += planned->memory_bytes;
	g_queue_push_tail(&queue->targets, planned);
	return planned;
}

const PlannedTarget *extent_queue_first(const ExtentQueue *queue)
{
	return queue->targets.head->data;
}

PlannedTarget *extent_queue_pop(ExtentQueue *queue)
{
	PlannedTarget *first = g_queue_pop_head(&queue->targets);

	queue->bytes -= first->extent.size_bytes;
	queue->memory_bytes -= first->memory_bytes;
	return first;
}

guint extent_queue_length(const ExtentQueue *queue)
{
	return queue->targets.length;
}

bool extent_queue_is_empty(const ExtentQueue *queue)
{
	return !queue->targets.head;
}

static bool has(const GArray *objects, uint32_t object)
{
	for (guint i = 0; i < objects->len; i++)
		if (g_array_index(objects, uint32_t, i) == object)
			return true;

	return false;
}

bool extent_queue_has_any(const ExtentQueue *queue, const GArray *objects)
{
	if (objects->len == 0)
		return false;

	for (GList *link = queue->targets.head; link; link = link->next) {
		const PlannedTarget *planned = link->data;

		if (has(objects, planned->extent.id))
			return true;
	}

	return false;
}

bool extent_queue_claims_room(const ExtentQueue *queue)
{
	for (GList *link = queue->targets.head; link; link = link->next)
		if (((const PlannedTarget *)link->data)->claim.held_room_bytes > 0)
			return true;

	return false;
}

bool extent_queue_is_full(const ExtentQueue *queue)
{
	guint n = queue->targets.length;

	return n >= TARGETS_MAX || queue->memory_bytes >= MEMORY_MAX ||
	       (n >= LEAST_MAX && queue->bytes >= BYTES_MAX);
}

static bool is_same_file(const ExtentRef *one, const ExtentRef *other)
{
	return one->root == other->root && one->inode == other->inode;
}

/* Whether @step continues @joined in its source, @length bytes after the beginning. */
static bool is_at_source(const ExtentStep *step, const ExtentStep *joined, uint64_t length)
{
	if (step->from != joined->from)
		return false;

	/* A hole continues at any place. */
	return step->from == STEP_FROM_HOLE ||
	       (is_same_file(&step->source, &joined->source) &&
		step->source_offset == joined->source_offset + length);
}

/* The same in both files. */
static bool is_at(const ExtentStep *step, const ExtentStep *joined, uint64_t length)
{
	return is_same_file(&step->target, &joined->target) &&
	       step->target_offset == joined->target_offset + length &&
	       is_at_source(step, joined, length);
}

/* The step that continues there, of a target from @link on, taken or not; *ret_link is its target. */
static ExtentStep *find_step(GList *link, const ExtentStep *joined, uint64_t length, bool is_taken,
			     GList **ret_link)
{
	/* Only the first target has its copy. */
	for (; link; link = joined->from == STEP_FROM_COPY ? NULL : link->next) {
		const PlannedTarget *planned = link->data;

		for (guint i = 0; i < planned->steps->len; i++) {
			ExtentStep *step = &g_array_index(planned->steps, ExtentStep, i);

			if (step->is_taken != is_taken || !is_at(step, joined, length))
				continue;
			*ret_link = link;
			return step;
		}
	}

	return NULL;
}

bool extent_queue_ends_before(const ExtentQueue *queue, const ExtentStep *step)
{
	const PlannedTarget *last = queue->targets.tail ? queue->targets.tail->data : NULL;

	/* Each target has a copy of its own. */
	if (step->from == STEP_FROM_COPY)
		return false;
	for (guint i = 0; last && i < last->steps->len; i++) {
		const ExtentStep *before = &g_array_index(last->steps, ExtentStep, i);

		if (is_at(step, before, before->length))
			return true;
	}

	return false;
}

/* Take @first, of the target at @link, with all that continues it. */
static TakenSteps take_joined(GList *link, ExtentStep *first)
{
	TakenSteps taken = { *first, first, 0 };
	ExtentStep *step;

	first->is_taken = true;
	/* Targets of one file come in its order, so continuations mostly come later. */
	while ((step = find_step(link, &taken.joined, taken.joined.length, false, &link))) {
		step->is_taken = true;
		taken.joined.length += step->length;
		taken.alone = NULL;
	}

	return taken;
}

bool extent_queue_take_joined(ExtentQueue *queue, TakenSteps *ret)
{
	GList *head = queue->targets.head;
	const PlannedTarget *first = head->data;

	for (guint i = 0; i < first->steps->len; i++) {
		ExtentStep *step = &g_array_index(first->steps, ExtentStep, i);

		if (step->is_done)
			continue;
		if (step->is_taken)
			return false;
		*ret = take_joined(head, step);
		step->is_taken = !ret->alone;
		return !ret->alone;
	}

	return false;
}

/* The bytes that are compared in vain if @taken differs.  @left_bytes of its target are not counted yet. */
static uint64_t at_stake(const TakenSteps *taken, const QueueTake *limits, uint64_t *left_bytes)
{
	uint64_t bytes = MIN(taken->joined.length, limits->window_bytes);

	if (!taken->alone)
		return bytes;
	bytes = MIN(bytes, *left_bytes);
	*left_bytes -= bytes;
	return bytes;
}

guint extent_queue_take(ExtentQueue *queue, const QueueTake *limits, GArray *ret)
{
	uint64_t bytes = 0;
	guint n = 0;

	for (GList *link = queue->targets.head; link && n < limits->targets; link = link->next) {
		const PlannedTarget *planned = link->data;
		/* References to one extent differ only together. */
		uint64_t left_bytes = planned->extent.size_bytes;
		guint first = ret->len;

		for (guint i = 0; i < planned->steps->len; i++) {
			ExtentStep *step = &g_array_index(planned->steps, ExtentStep, i);
			TakenSteps taken;

			if (step->is_taken || step->from == STEP_FROM_COPY)
				continue;
			if (ret->len >= limits->steps || (bytes >= limits->bytes && left_bytes > 0))
				return n;
			taken = take_joined(link, step);
			taken.first = first;
			bytes += at_stake(&taken, limits, &left_bytes);
			g_array_append_val(ret, taken);
		}
		n++;
	}

	return n;
}

uint64_t extent_queue_set_done(ExtentQueue *queue, const ExtentStep *joined, uint64_t bytes)
{
	GList *link = queue->targets.head;
	uint64_t done = 0;
	ExtentStep *step;

	while ((step = find_step(link, joined, done, true, &link)) &&
	       done + step->length <= bytes) {
		step->is_done = true;
		done += step->length;
	}

	return done;
}
